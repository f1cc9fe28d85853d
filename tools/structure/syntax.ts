import type { Node, SourceFile as Tree } from 'typescript/unstable/ast'
import { createVirtualFileSystem } from 'typescript/unstable/fs'
import { API } from 'typescript/unstable/sync'
import type { SourceFile } from './source-files.ts'

/** A source file with its syntax tree. */
export interface ParsedFile {
  readonly path: string
  readonly tree: Tree
}

const ROOT = '/tree'
/** Only parses: no imports are resolved and no library is loaded. */
const OPTIONS = { allowJs: true, jsx: 'preserve', noLib: true, noResolve: true, types: [] }

/** Parses all files at once with TypeScript's parser, in a virtual file system. */
export function parse(sources: readonly SourceFile[]): ParsedFile[] {
  const names = sources.map(({ path }) => `${ROOT}/${path}`)
  const config = `${ROOT}/tsconfig.json`
  const texts = Object.fromEntries(sources.map(({ path, text }) => [`${ROOT}/${path}`, text]))
  texts[config] = JSON.stringify({ compilerOptions: OPTIONS, files: names })
  const api = new API({ cwd: ROOT, fs: createVirtualFileSystem(texts) })
  try {
    const program = api.updateSnapshot({ openProjects: [config] }).getProject(config)?.program
    return sources.map(({ path }) => {
      const tree = program?.getSourceFile(`${ROOT}/${path}`)
      if (tree === undefined) throw new Error(`TypeScript did not parse ${path}`)
      return { path, tree }
    })
  } finally {
    api.close()
  }
}

/** The line where a node begins, counted from 1, without its doc comment. */
export function lineOf(tree: Tree, node: Node): number {
  return tree.getLineAndCharacterOfPosition(node.getStart(tree)).line + 1
}

/** All descendants of a node, in source order. */
export function nodesBelow(node: Node): Node[] {
  const nodes: Node[] = []
  node.forEachChild((child) => {
    nodes.push(child, ...nodesBelow(child))
  })
  return nodes
}
