import { posix } from 'node:path'
import type { Breach } from './breach.ts'
import { isTest, type SourceFile } from './source-files.ts'

const MAX_LINES = 400
const WORD = '[a-z0-9]+(?:-[a-z0-9]+)*'
/** `claim.ts`, `claim.test.ts`, `0001-schema.ts`. */
const KEBAB_CASE = new RegExp(`^${WORD}(?:\\.${WORD})*$`)

/** Code files, other than tests, with more than 400 lines. A warning: some long files have one responsibility. */
export function findLongFiles(sources: readonly SourceFile[]): Breach[] {
  return sources
    .filter(({ path }) => /\.tsx?$/.test(path) && !isTest(path))
    .flatMap(({ path, text }) => {
      const lines = text.split('\n').length - (text.endsWith('\n') ? 1 : 0)
      if (lines <= MAX_LINES) return []
      const wrong = `${lines} lines, more than ${MAX_LINES}`
      return [{ path, line: MAX_LINES + 1, wrong, mend: 'split it by responsibility' }]
    })
}

/** Files, other than tests, that are not named in kebab-case. */
export function checkFileNames(sources: readonly SourceFile[]): Breach[] {
  return sources
    .filter(({ path }) => !isTest(path) && !KEBAB_CASE.test(posix.basename(path)))
    .map(({ path }) => ({
      path,
      line: 1,
      wrong: 'the file name is not in kebab-case',
      mend: 'name it after its responsibility: lower-case words joined by hyphens',
    }))
}
