import { REPORT_CATEGORIES, type ReportCategory } from '@countersign/protocol'
import type { MetricRegistrar } from '../../http/metrics/metric-registrar.ts'
import { OutcomeCounter } from '../../http/metrics/outcome-counter.ts'

/** Counts reports. Hosts and agents are in the log, not here: anyone could make series without limit. */
export class ReportMetrics {
  alarms = 0
  readonly #results = new Map<ReportCategory, OutcomeCounter>(
    REPORT_CATEGORIES.map((category) => [category, new OutcomeCounter(['received'])]),
  )

  count(category: ReportCategory, result: string): void {
    this.#results.get(category)?.add(result)
  }

  describe(registrar: MetricRegistrar): void {
    registrar.counter(
      'countersign_reports_total',
      'Well-formed reports about agents, by category and outcome',
      ['category', 'result'],
      () =>
        [...this.#results].flatMap(([category, { counts }]) =>
          [...counts].map(([result, count]) => [{ category, result }, count] as const),
        ),
    )
    registrar.counter(
      'countersign_report_alarms_total',
      'Agents whose requests to three hosts were reported within 24 hours',
      [],
      () => [[{}, this.alarms]],
    )
  }
}
