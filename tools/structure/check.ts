import { checkTable } from './architecture-table.ts'
import { type Breach, byPlace } from './breach.ts'
import { checkDocComments } from './doc-comments.ts'
import { checkCycles } from './import-cycles.ts'
import { checkDirections } from './import-directions.ts'
import { importsOf } from './imports.ts'
import { checkNames, checkSizes } from './shapes.ts'
import { isCode, readSources } from './source-files.ts'
import { checkEnvelopes, checkStrangers } from './strangers.ts'
import { parse } from './syntax.ts'

/** What was looked at, and what is wrong with it. */
export interface Findings {
  readonly files: number
  readonly imports: number
  readonly breaches: readonly Breach[]
}

/** Holds a repository against every rule of rules.ts. */
export function checkStructure(root: string): Findings {
  const sources = readSources(root)
  const parsed = parse(sources.filter(isCode))
  const imports = parsed.flatMap(importsOf)
  const breaches = [
    ...checkDirections(imports),
    ...checkCycles(imports),
    ...checkEnvelopes(parsed),
    ...checkStrangers(parsed),
    ...checkDocComments(parsed),
    ...checkSizes(sources),
    ...checkNames(sources),
    ...checkTable(root, sources),
  ].sort(byPlace)
  return { files: sources.length, imports: imports.length, breaches }
}
