import { posix } from 'node:path'
import type { Breach } from './breach.ts'
import { LINE_LIMITS } from './rules.ts'
import { isTest, type SourceFile } from './source-files.ts'

const WORD = '[a-z0-9]+(?:-[a-z0-9]+)*'
/** `claim.ts`, `claim.test.ts`, `0001-first.ts`. */
const KEBAB_CASE = new RegExp(`^${WORD}(?:\\.${WORD})*$`)

/** Files that are too long. */
export function checkSizes(sources: readonly SourceFile[]): Breach[] {
  return sources
    .filter(({ path }) => /\.tsx?$/.test(path) && !isTest(path))
    .flatMap(({ path, text }) => {
      const lines = text.split('\n').length - (text.endsWith('\n') ? 1 : 0)
      const limit = LINE_LIMITS.find(({ files }) => path.startsWith(files))
      if (limit === undefined || lines <= limit.lines) return []
      const wrong = `${lines} lines; ${limit.what} has at most ${limit.lines}`
      const mend = 'split it by job or noun, a file each'
      return [{ path, line: limit.lines + 1, wrong, mend }]
    })
}

/** Files that are not named in kebab-case. */
export function checkNames(sources: readonly SourceFile[]): Breach[] {
  return sources
    .filter(({ path }) => !isTest(path) && !KEBAB_CASE.test(posix.basename(path)))
    .map(({ path }) => ({
      path,
      line: 1,
      wrong: 'the file name is not in kebab-case',
      mend: 'name it for its job or noun: lower-case words joined by hyphens',
    }))
}
