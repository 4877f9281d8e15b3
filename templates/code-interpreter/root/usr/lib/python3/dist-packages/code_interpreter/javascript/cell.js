// A cell as a script: types are stripped, declarations at its top become global variables, which stay and may be declared again, `import` becomes a
// call, and the rest is the body of an asynchronous function, which may wait at its top and returns the value of the last expression.

"use strict";

const ts = require("typescript");
const { Edits } = require("./edits.js");
const { IMPORT } = require("./modules.js");

const OPTIONS = {
  target: ts.ScriptTarget.ES2022,
  module: ts.ModuleKind.ESNext,
  jsx: ts.JsxEmit.React,
  experimentalDecorators: true,
  isolatedModules: true,
  // A later cell may use what this one imports.
  preserveValueImports: true,
};

/** Throws a SyntaxError. */
function scriptOf(code, language) {
  const file = parse(stripTypes(code, language));
  const edits = new Edits(file.text);
  const names = new Set();
  edit(file, edits, names);
  const parts = { functions: [], imports: [], body: [] };
  const statements = file.statements.filter((statement) => !ts.isExportDeclaration(statement));
  for (const statement of statements) {
    if (ts.isFunctionDeclaration(statement)) parts.functions.push(edits.textOf(statement));
    else if (ts.isImportDeclaration(statement)) parts.imports.push(importOf(statement, names));
    else parts.body.push(bodyOf(statement, statement === statements.at(-1), edits, names));
  }
  const body = [...parts.imports, ...parts.body].join("\n");
  // Functions are outside, where they are global and can be called before their lines.
  return { source: `${parts.functions.join("\n")}\n(async () => {\n${body}\n})()`, names };
}

function stripTypes(code, language) {
  const fileName = language === "typescript" ? "cell.ts" : "cell.js";
  // With an export a file is a module, in which `await` is a keyword at its top.
  const { outputText, diagnostics } = ts.transpileModule(`${code}\nexport {};`, {
    ...{ compilerOptions: { ...OPTIONS, allowJs: true }, fileName, reportDiagnostics: true },
  });
  const fault = diagnostics.find(({ category }) => category === ts.DiagnosticCategory.Error);
  if (fault !== undefined) throw syntaxError(fault);
  return outputText;
}

function syntaxError({ messageText, file, start }) {
  const error = new SyntaxError(ts.flattenDiagnosticMessageText(messageText, "\n"));
  const { line, character } = file.getLineAndCharacterOfPosition(start);
  error.stack = `SyntaxError: ${error.message}\n    at line ${line + 1}, column ${character + 1}`;
  return error;
}

function parse(text) {
  return ts.createSourceFile("cell.js", text, ts.ScriptTarget.ES2022, true, ts.ScriptKind.JS);
}

/** What changes wherever it is: `import(…)`, `import.meta`, and each `var` that is in no function. */
function edit(node, edits, names, isInFunction = false) {
  if (node.kind === ts.SyntaxKind.ImportKeyword && !ts.isImportDeclaration(node.parent))
    edits.replace(node.getStart(), node.end, IMPORT);
  if (ts.isMetaProperty(node) && node.keywordToken === ts.SyntaxKind.ImportKeyword)
    edits.replace(node.getStart(), node.getStart() + "import".length, IMPORT);
  if (ts.isVariableDeclarationList(node) && !isInFunction && isGlobal(node)) assign(node, edits, names);
  const isFunction = isInFunction || ts.isFunctionLike(node) || ts.isClassStaticBlockDeclaration(node);
  ts.forEachChild(node, (child) => edit(child, edits, names, isFunction));
}

function isGlobal(list) {
  const isVar = (list.flags & ts.NodeFlags.BlockScoped) === 0;
  return isVar || (ts.isVariableStatement(list.parent) && ts.isSourceFile(list.parent.parent));
}

/** `const a = 1, { b } = c` as `(a = 1, { b } = c)`. */
function assign(list, edits, names) {
  const isLet = (list.flags & ts.NodeFlags.Let) !== 0;
  const isLoopVariable = ts.isForInStatement(list.parent) || ts.isForOfStatement(list.parent);
  const first = list.declarations[0];
  edits.replace(list.getStart(), first.getStart(), isLoopVariable ? "" : "(");
  for (const { name, initializer } of list.declarations) {
    namesIn(name, names);
    if (initializer === undefined && isLet && !isLoopVariable)
      edits.replace(name.end, name.end, " = undefined");
  }
  if (!isLoopVariable) edits.replace(list.end, list.end, ")");
}

function namesIn(name, names) {
  if (ts.isIdentifier(name)) names.add(name.text);
  else
    for (const element of name.elements) if (!ts.isOmittedExpression(element)) namesIn(element.name, names);
}

function bodyOf(statement, isLast, edits, names) {
  if (ts.isClassDeclaration(statement) && statement.name !== undefined) {
    names.add(statement.name.text);
    return `${statement.name.text} = ${edits.textOf(statement)};`;
  }
  if (ts.isExportAssignment(statement)) return `(${edits.textOf(statement.expression)});`;
  if (!ts.isExpressionStatement(statement) || !isLast) return edits.textOf(statement);
  return `return (${edits.textOf(statement.expression)}\n);`;
}

/** `import a, { b as c } from "d"` as `({ default: a, b: c } = await __import("d"));` */
function importOf({ importClause, moduleSpecifier }, names) {
  const load = `await ${IMPORT}(${moduleSpecifier.getText()})`;
  if (importClause === undefined) return `${load};`;
  const { name, namedBindings } = importClause;
  const taken = name === undefined ? [] : [["default", name.text]];
  if (namedBindings !== undefined && ts.isNamedImports(namedBindings))
    for (const element of namedBindings.elements)
      taken.push([(element.propertyName ?? element.name).text, element.name.text]);
  const lines =
    taken.length === 0 ? [] : [`({ ${taken.map((pair) => pair.join(": ")).join(", ")} } = ${load});`];
  if (namedBindings !== undefined && ts.isNamespaceImport(namedBindings)) {
    names.add(namedBindings.name.text);
    lines.push(`${namedBindings.name.text} = ${load};`);
  }
  for (const [, local] of taken) names.add(local);
  return lines.join("\n");
}

module.exports = { scriptOf };
