import { Session } from 'node:inspector/promises'
import { relative } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { ROOT } from './service.ts'

/** What every request or commit runs, the answers ahead of the router, and the wiring: no part of any one job. */
const EVERYWHERE =
  /^packages\/server\/src\/(base|database|service|http(?!\/outbound)|agents\/read-model)\/|\/(plain-[a-z-]+|agent-event-broadcaster|part)\.ts$/
const SOURCE = /^packages\/[a-z]+\/src\//

/** Work has ended once it has run no further file for so long, in milliseconds. */
const QUIET_MS = 500

/**
 * The files of `packages` in which a function runs meanwhile, and in what follows from it, from the root of the repository,
 * sorted: by V8's coverage, so what only loads does not count.
 * @param without a file that it matches does not count either
 */
export async function filesRunBy(work: () => Promise<unknown>, without = /^$/): Promise<string[]> {
  const session = new Session()
  session.connect()
  try {
    await session.post('Profiler.enable')
    await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false })
    await work()
    const files = new Set<string>()
    for (let before = -1; before < files.size; ) {
      before = files.size
      await sleep(QUIET_MS)
      for (const path of await takeFiles(session)) if (!without.test(path)) files.add(path)
    }
    return [...files].toSorted()
  } finally {
    session.disconnect()
  }
}

/** Those of which a function has run since the last call. */
async function takeFiles(session: Session): Promise<string[]> {
  const { result } = await session.post('Profiler.takePreciseCoverage')
  return result
    .filter(({ functions }) => functions.some(isCalled))
    .filter(({ url }) => url.startsWith('file:'))
    .map(({ url }) => relative(ROOT, fileURLToPath(url)))
    .filter((path) => SOURCE.test(path) && !EVERYWHERE.test(path))
}

interface FunctionCoverage {
  readonly ranges: readonly { readonly startOffset: number; readonly count: number }[]
}

/** The function at offset 0 is the module itself. */
function isCalled({ ranges: [range] }: FunctionCoverage): boolean {
  return range !== undefined && range.startOffset > 0 && range.count > 0
}
