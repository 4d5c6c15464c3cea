// Checks the English in documentation, comments and messages with textlint and the replacements in
// .english/replacements.yml. (cspell checks the spelling, using the words in .english/words.txt.) Prints each finding
// with its position. Fails if there are any, or if the rules accept a sentence from .english/refused.txt.
//   node scripts/english.mjs [file ...]      checks the given files, including those that aren't checked by default
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { createLinter, loadTextlintrc } from 'textlint';
import ts from 'typescript';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
/** Matches files that are generated, written by others, already released, or in German. */
const EXCLUDED =
  /^(CHANGELOG\.md|prisma\/(migrations|seed)\/|src\/database\/generated\/|src\/client\/openapi\.ts|web\/build\/|web\/texts\/de\/|web\/generated\/|test\/)/;
const DOCUMENT = /\.md$/;
const SOURCE = /\.(ts|tsx|mjs|cjs)$/;
/** Matches queries and scripts in other languages. */
const CODE =
  /^\s*(query|mutation|subscription|fragment|select|insert|update|delete|with|create|alter|drop|import|#!)\b|[{};]\s*$/i;
const SENTENCE = /\p{L}+ \p{L}+ \p{L}+/u;

const named = process.argv.slice(2);
const notYet = new Set(readFileSync(`${ROOT}.english/not-yet.txt`, 'utf8').split('\n'));
const files = named.length > 0 ? named : trackedFiles().filter((file) => !EXCLUDED.test(file) && !notYet.has(file));
const linter = createLinter({
  descriptor: await loadTextlintrc({ configFilePath: `${ROOT}.english/textlintrc.json` }),
});
let findings = 0;
for (const file of files) {
  const content = readFileSync(`${ROOT}${file}`, 'utf8');
  const isDocument = DOCUMENT.test(file);
  if (!isDocument && !SOURCE.test(file)) continue;
  const text = isDocument ? content : proseOf(file, content);
  const { messages } = await linter.lintText(text, isDocument ? file : `${file}.txt`);
  for (const { line, column, message } of messages) {
    findings += 1;
    console.error(`${file}:${line}:${column}  ${message.split('\n')[0]}`);
  }
}
for (const sentence of readFileSync(`${ROOT}.english/refused.txt`, 'utf8').trim().split('\n')) {
  const { messages } = await linter.lintText(sentence, 'sentence.txt');
  if (messages.length > 0) continue;
  findings += 1;
  console.error(`no rule refuses: ${sentence}`);
}
if (findings > 0) console.error(`${findings} findings`);
process.exitCode = findings === 0 ? 0 : 1;

function trackedFiles() {
  return execFileSync('git', ['ls-files'], { cwd: ROOT, encoding: 'utf8' }).trim().split('\n');
}

/** Returns a source file's comments and sentences at their original positions, with spaces everywhere else. */
function proseOf(path, content) {
  const source = ts.createSourceFile(path, content, ts.ScriptTarget.Latest, true);
  const prose = [...content].fill(' ');
  const keep = (from, text) => {
    for (let index = 0; index < text.length; index += 1) prose[from + index] = text[index];
  };
  const comments = new Set();
  const visit = (node) => {
    const ranges = [
      ...(ts.getLeadingCommentRanges(content, node.pos) ?? []),
      ...(ts.getTrailingCommentRanges(content, node.end) ?? []),
    ];
    for (const { pos, end } of ranges) {
      if (comments.has(pos)) continue;
      comments.add(pos);
      keep(
        pos,
        content.slice(pos, end).replace(/^\/\*\*?|\*\/$|^\/\/|^[ \t]*\*(?!\/)/gm, (marks) => ' '.repeat(marks.length)),
      );
    }
    if (isText(node)) {
      const text = content.slice(node.getStart(source), node.end);
      if (SENTENCE.test(node.text) && !CODE.test(node.text)) keep(node.getStart(source), text);
    }
    ts.forEachChild(node, visit);
  };
  visit(source);
  for (let index = 0; index < content.length; index += 1) if (content[index] === '\n') prose[index] = '\n';
  return prose.join('');
}

function isText(node) {
  return (
    ts.isStringLiteralLike(node) ||
    ts.isTemplateHead(node) ||
    ts.isTemplateMiddleOrTemplateTail(node) ||
    ts.isJsxText(node)
  );
}
