import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

/** A source file that is not generated. */
export interface SourceFile {
  /** Relative to the root, with forward slashes. */
  readonly path: string
  readonly text: string
}

const PLACES = 'packages/*/{src,bin,test}/**/*.{ts,tsx,mts,js,jsx,mjs,cjs,css,html,sql,sh}'
const ROOT_PLACES = '{tools,bench}/**/*.{ts,tsx,mts,js,jsx,mjs,cjs,css,html,sql,sh}'
const NOT_OURS = ['**/node_modules/**', '**/dist/**']

/** Every source file of the packages, tools and bench, sorted by path. */
export function readSources(root: string): SourceFile[] {
  return globSync([PLACES, ROOT_PLACES], { cwd: root, exclude: NOT_OURS })
    .sort()
    .map((path) => ({
      path: path.replaceAll('\\', '/'),
      text: readFileSync(join(root, path), 'utf8'),
    }))
}

/** Whether TypeScript can parse it. */
export function isCode({ path }: SourceFile): boolean {
  return /\.[cm]?[jt]sx?$/.test(path)
}

/** Whether it is in `packages/<x>/test`, where the rules for src do not apply. */
export function isTest(path: string): boolean {
  return /^packages\/[^/]+\/test\//.test(path)
}
