import type { MetricRegistrar } from '../../../http/metrics/metric-registrar.ts'

/** Counts the requests of SCIM by operation and status. */
export class ScimRequests {
  readonly #counts = new Map<string, number>()

  /** @param operation an `operationId` */
  add(operation: string, status: number): void {
    const key = `${operation} ${status}`
    this.#counts.set(key, (this.#counts.get(key) ?? 0) + 1)
  }

  register(metrics: MetricRegistrar): void {
    metrics.counter(
      'countersign_scim_requests_total',
      'Requests of SCIM by identity providers, since the start',
      ['operation', 'status'],
      () =>
        [...this.#counts].map(([key, count]) => {
          const [operation = '', status = ''] = key.split(' ')
          return [{ operation, status }, count]
        }),
    )
  }
}
