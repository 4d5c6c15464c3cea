import type { Command } from 'commander';
import type { Deps } from '../compose/deps.js';
import { importModels, importRegions, MODEL_COLUMNS, REGION_COLUMNS } from '../domain/inventory/catalogue-import.js';
import { importTemplates, MORE_TEMPLATE_COLUMNS, TEMPLATE_COLUMNS } from '../domain/inventory/template-import.js';
import type { FileRecord, ImportReport } from '../domain/kernel/import.js';
import { recordsOf } from './files.js';
import { type Output, printImport } from './output.js';
import type { Run } from './run.js';

type Import = (deps: Deps, records: AsyncIterable<FileRecord>, dryRun: boolean) => Promise<ImportReport>;

export function addCatalogueCommands(program: Command, run: Run): void {
  addImport(program, run, 'model', 'GPU models', { columns: MODEL_COLUMNS, more: [] }, importModels);
  addImport(program, run, 'region', 'regions', { columns: REGION_COLUMNS, more: [] }, importRegions);
  const columns = { columns: TEMPLATE_COLUMNS, more: MORE_TEMPLATE_COLUMNS };
  addImport(program, run, 'template', 'templates', columns, importTemplates);
}

/** Columns of a catalogue file. Those in `more` are optional. */
interface Columns {
  columns: readonly string[];
  more: readonly string[];
}

function addImport(
  program: Command,
  run: Run,
  noun: string,
  things: string,
  { columns, more }: Columns,
  apply: Import,
): void {
  const others = more.length === 0 ? '' : `; optional: ${more.join(', ')}`;
  program
    .command(noun)
    .description(`Import ${things}`)
    .command('import <file>')
    .description(`Create or update ${things} from a CSV or JSON file with the fields ${columns.join(', ')}${others}`)
    .option('--dry-run', 'Validate the file without changing anything')
    .option('--json', 'Print JSON')
    .action((file: string, options: Output & { dryRun?: boolean }) =>
      run(async (deps) =>
        printImport(things, await apply(deps, recordsOf(file, columns), options.dryRun ?? false), options),
      ),
    );
}
