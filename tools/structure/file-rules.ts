import { posix } from 'node:path'
import type { Breach } from './breach.ts'
import { BARS } from './rules.ts'
import { isCode, isTest, type SourceFile } from './source-files.ts'

const MAX_LINES = 400
const WORD = '[a-z0-9]+(?:-[a-z0-9]+)*'
/** `claim.ts`, `claim.test.ts`, `0001-schema.ts`. */
const KEBAB_CASE = new RegExp(`^${WORD}(?:\\.${WORD})*$`)

/** Code files, other than tests, with more than 400 lines. */
export function findLongFiles(sources: readonly SourceFile[]): Breach[] {
  return sources
    .filter(({ path }) => /\.tsx?$/.test(path) && !isTest(path))
    .flatMap(({ path, text }) => {
      const lines = countLines(text)
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

/** Folders that have grown above their bar. A bar goes up only in a commit that says why. */
export function checkBars(sources: readonly SourceFile[]): Breach[] {
  return BARS.flatMap(({ within, mostFiles = Infinity, mostLines }) => {
    const found = sources.filter((source) => isCode(source) && within.test(source.path))
    const lines = found.reduce((sum, { text }) => sum + countLines(text), 0)
    if (found.length <= mostFiles && lines <= mostLines) return []
    return [
      {
        path: 'tools/structure/rules.ts',
        line: 1,
        wrong: `${within.source} has ${found.length} files with ${lines} lines, more than ${mostFiles} or ${mostLines}`,
        mend: 'remove what the change made unnecessary, or raise the bar and say why',
      },
    ]
  })
}

export function countLines(text: string): number {
  return text.split('\n').length - (text.endsWith('\n') ? 1 : 0)
}

/** Names that say what a file is to its folder, and folders whose files are adapters, named after what they adapt. */
const SHARED_NAME = /\/(part\.ts|index\.[^/]+)$|\/(channels\/kinds|accounts\/providers)\/[^/]+$/

/** Files of the server with the same name, which cannot be told apart in an editor or a stack trace. */
export function checkTwins(sources: readonly SourceFile[]): Breach[] {
  const named = sources.filter(
    ({ path }) => /^packages\/server\/src\/.*\.tsx?$/.test(path) && !SHARED_NAME.test(path),
  )
  const twins = Map.groupBy(named, ({ path }) => posix.basename(path))
  return [...twins.values()]
    .filter((files) => files.length > 1)
    .flatMap((files) =>
      files.map(({ path }) => ({
        path,
        line: 1,
        wrong: 'another file of the server has the same name',
        mend: 'name each after its own responsibility',
      })),
    )
}
