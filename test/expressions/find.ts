import { join } from 'node:path'
import type { Node, StringLiteral } from 'typescript/unstable/ast'
import * as is from 'typescript/unstable/ast/is'
import { API } from 'typescript/unstable/sync'

/** A regular expression as it is written in the source. */
export interface Written {
  readonly file: string
  readonly expression: RegExp
}

export interface Found {
  readonly written: readonly Written[]
  /** Files that build an expression at run time: it can't be tested here. */
  readonly built: readonly string[]
}

/** Every regular expression in src/, found by the parser of TypeScript: a text search would mistake divisions for them. */
export function findExpressions(root: string): Found {
  const api = new API({ cwd: root })
  try {
    const [project] = api.updateSnapshot({ openProject: join(root, 'tsconfig.json') }).getProjects()
    const sources = join(root, 'src/')
    const files = project?.program.getSourceFileNames().filter((file) => file.startsWith(sources)) ?? []
    const written: Written[] = []
    const built: string[] = []
    for (const path of files) {
      const file = path.slice(root.length + 1)
      const visit = (node: Node): void => {
        if (is.isRegularExpressionLiteral(node)) written.push({ file, expression: compiled(node.text, node.parent) })
        else if (isPattern(node)) written.push({ file, expression: new RegExp(node.text, 'u') })
        else if (is.isIdentifier(node) && node.text === 'RegExp' && isCall(node.parent)) built.push(file)
        node.forEachChild(visit)
      }
      const source = project?.program.getSourceFile(path)
      if (source) visit(source)
    }
    return { written, built }
  } finally {
    api.close()
  }
}

/** `split` finds all matches, like an expression with `g`. */
function compiled(literal: string, parent: Node): RegExp {
  const end = literal.lastIndexOf('/')
  const flags = literal.slice(end + 1)
  const method =
    is.isCallExpression(parent) && is.isPropertyAccessExpression(parent.expression) && parent.expression.name
  const isSplit = method && method.text === 'split'
  return new RegExp(literal.slice(1, end), isSplit ? `${flags}g` : flags)
}

/** `pattern: '…'` of a schema. */
function isPattern(node: Node): node is StringLiteral {
  const { parent } = node
  return is.isStringLiteral(node) && is.isPropertyAssignment(parent) && parent.name.getText() === 'pattern'
}

function isCall(node: Node): boolean {
  return is.isNewExpression(node) || is.isCallExpression(node)
}
