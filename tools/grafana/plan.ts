/** A panel of the dashboard. `$I` in a query stands for the nodes that are looked at, `$R` for the span of a rate. */
export interface PanelPlan {
  readonly title: string
  /** Of Grafana's units: what the axis says. */
  readonly unit: string
  /** Legend and query. */
  readonly queries: readonly (readonly [string, string])[]
  /** One large number in the place of a graph. */
  readonly stat?: true
  readonly description?: string
}

export interface RowPlan {
  readonly title: string
  readonly panels: readonly PanelPlan[]
}

/** @param by labels, `le` among them */
export const quantile = (q: number, by: string, selector: string) =>
  `histogram_quantile(${q}, sum by (${by}) (rate(${selector}[$R])))`
