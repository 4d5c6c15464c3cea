// Fails if user-visible text is found outside web/texts, or if a language lacks one of the files. TypeScript covers the
// rest, because the German texts have the type of the English ones and a missing key therefore fails to compile.
import { readdirSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import ts from 'typescript';

const web = fileURLToPath(new URL('../web', import.meta.url));
/** Matches units, names and abbreviations that are the same in every language. */
const SAME_EVERYWHERE =
  /\b(USD|GPUs?|CPUs?|vCPUs?|RAM|VRAM|[KMGT]B|[KMGT]iB|bit|Mbit|Hz|MHz|SSH|API|REST|GraphQL|CSV|URL|ID|IP|UTC|JSON|JSONL|min|ms)\b/g;
/** Matches attributes that screen readers read aloud. */
const READ_ALOUD =
  /^(aria-(label|description|roledescription|valuetext)|title|placeholder|alt|label|caption|summary|data-label|legend)$/;
/** Elements whose content is typed rather than read. */
const TYPED = new Set(['code', 'kbd', 'pre', 'samp']);
/** Matches error classes whose messages are never displayed. */
const UNSEEN = /^(Error|Unreachable|DOMException)$/;
/** Matches calls that take a selector. */
const SELECTS = /\.(querySelector(All)?|closest|matches)$/;
/** Matches source files that contain no user-visible text. */
const NO_TEXTS = /^(texts|build|generated|graph\/documents|figures\/same-as)/;
/** Files whose text hasn't been moved yet. This list may only get shorter. */
const NOT_YET = new Set([]);

const letters = (text) => /\p{L}{2,}/u.test(text.replace(SAME_EVERYWHERE, '').replace(/&\w+;/g, ''));
const isSentence = (text) => /\p{L}{2,} \p{L}+/u.test(text);

function sources(folder) {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && /\.tsx?$/.test(entry.name))
    .map((entry) => join(entry.parentPath, entry.name));
}

/** Returns [line, text] for each user-visible text in a file. */
function textsIn(path) {
  const file = ts.createSourceFile(path, readFileSync(path, 'utf8'), ts.ScriptTarget.Latest, true);
  const found = [];
  const report = (node, text) =>
    found.push([file.getLineAndCharacterOfPosition(node.getStart()).line + 1, text.trim()]);
  const visit = (node) => {
    if (ts.isImportDeclaration(node) || ts.isTypeNode(node)) return;
    if (ts.isNewExpression(node) && UNSEEN.test(node.expression.getText())) return;
    if (ts.isCallExpression(node) && SELECTS.test(node.expression.getText())) return;
    if (ts.isJsxElement(node) && TYPED.has(node.openingElement.tagName.getText())) return;
    if (ts.isJsxText(node) && letters(node.text)) report(node, node.text);
    if (ts.isJsxAttribute(node)) {
      const name = node.name.getText();
      if (name === 'class') return;
      if (READ_ALOUD.test(name) && node.initializer !== undefined && letters(literalText(node.initializer)))
        return report(node, node.initializer.getText());
    }
    if (ts.isStringLiteralLike(node) && isSentence(node.text)) report(node, node.text);
    if (ts.isTemplateExpression(node) && isSentence(literalText(node))) report(node, node.getText());
    ts.forEachChild(node, visit);
  };
  visit(file);
  return found;
}

/** Returns the text of a string, or the fixed parts of a template, below this node. */
function literalText(node) {
  if (ts.isStringLiteralLike(node)) return node.text;
  if (ts.isTemplateExpression(node))
    return [node.head, ...node.templateSpans.map((span) => span.literal)].map(({ text }) => text).join('0');
  if (ts.isJsxExpression(node) && node.expression !== undefined) return literalText(node.expression);
  return '';
}

const complain = (line) => {
  console.error(line);
  process.exitCode = 1;
};

for (const path of sources(web)) {
  const name = relative(web, path);
  if (NO_TEXTS.test(name)) continue;
  const found = textsIn(path);
  if (NOT_YET.has(name)) {
    if (found.length === 0) complain(`${name} now has its texts in web/texts; remove it from NOT_YET`);
    continue;
  }
  for (const [line, text] of found)
    complain(`web/${name}:${line} contains text for people; move it to web/texts: ${text.slice(0, 80)}`);
}

const english = sources(join(web, 'texts/en')).map((path) => relative(join(web, 'texts/en'), path));
for (const language of readdirSync(join(web, 'texts'), { withFileTypes: true })) {
  if (!language.isDirectory()) continue;
  const own = sources(join(web, 'texts', language.name)).map((path) =>
    relative(join(web, 'texts', language.name), path),
  );
  const [lacks, extra] = [english.filter((name) => !own.includes(name)), own.filter((name) => !english.includes(name))];
  for (const name of lacks) complain(`web/texts/${language.name}/${name} is missing`);
  for (const name of extra) complain(`web/texts/${language.name}/${name} has no English counterpart`);
}
