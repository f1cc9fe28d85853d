import { checkArchitecturePage } from './architecture-page.ts'
import { type Breach, byPlace } from './breach.ts'
import { checkDocComments } from './doc-comments.ts'
import { checkEnvelopes } from './error-envelopes.ts'
import { checkBars, checkFileNames, checkTwins, findLongFiles } from './file-rules.ts'
import { checkForbiddenIdentifiers } from './forbidden-identifiers.ts'
import { checkCycles } from './import-cycles.ts'
import { checkDirections } from './import-directions.ts'
import { importsOf } from './imports.ts'
import { checkArrows } from './rooms.ts'
import { isCode, readSources } from './source-files.ts'
import { checkSpreadLiterals } from './spread-literals.ts'
import { parse } from './syntax.ts'

/** How much was checked, and what was found. */
export interface Findings {
  readonly files: number
  readonly imports: number
  /** Broken rules. The check fails if there are any. */
  readonly breaches: readonly Breach[]
}

/** Checks a repository against every rule of rules.ts. */
export function checkStructure(root: string): Findings {
  const sources = readSources(root)
  const parsed = parse(sources.filter(isCode))
  const imports = parsed.flatMap(importsOf)
  const breaches = [
    ...checkDirections(imports),
    ...checkCycles(imports),
    ...checkArrows(imports),
    ...checkEnvelopes(parsed),
    ...checkSpreadLiterals(parsed),
    ...checkForbiddenIdentifiers(parsed),
    ...checkDocComments(parsed),
    ...checkFileNames(sources),
    ...checkArchitecturePage(root),
    ...checkBars(sources),
    ...checkTwins(sources),
    ...findLongFiles(sources),
  ].sort(byPlace)
  return { files: sources.length, imports: imports.length, breaches }
}
