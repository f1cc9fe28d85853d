import { runScript } from './load.ts'
import type { Bench } from './systems.ts'
import { count, ratio } from './table.ts'

/** What `reports.ts` gets. */
export interface ReportsTask {
  readonly turns: number
}

/** Microseconds of processor time, client included. */
export interface Reports {
  /** `POST /api/v1/verify-request` of one request. */
  readonly verification: number
  /** `POST /api/v1/reports` with one request. */
  readonly report: number
}

const TURNS = 40
const DEADLINE_SECONDS = 300
const AIM = 0.3

/** Measures reports in a process of its own. */
export function measureReports({ scope, machine, say }: Bench): Promise<Reports> {
  say('reports')
  const task: ReportsTask = { turns: TURNS }
  const script = import.meta.resolve('./reports.ts')
  const deadline = { seconds: DEADLINE_SECONDS }
  return runScript(scope, machine, deadline, script, task) as Promise<Reports>
}

export function reportLines({ verification, report }: Reports): string[] {
  const part = verification / report
  return [
    `a report with one request: ${count(1e6 / report)}/s, ${ratio(part)} of its verification alone (${count(1e6 / verification)}/s), by processor time; ` +
      `aim: >= ${AIM}: ${part >= AIM ? 'yes' : 'no'}`,
  ]
}
