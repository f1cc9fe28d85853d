/** A panel of the dashboard. In queries, `$I` stands for the selected nodes and `$R` for the range of a rate. */
export interface PanelPlan {
  readonly title: string
  /** A unit of Grafana, for the axis. */
  readonly unit: string
  /** Pairs of legend and query. */
  readonly queries: readonly (readonly [string, string])[]
  /** Shows one large number instead of a graph. */
  readonly stat?: true
  readonly description?: string
}

export interface RowPlan {
  readonly title: string
  readonly panels: readonly PanelPlan[]
}

/** @param by the labels to group by, including `le` */
export const quantile = (q: number, by: string, selector: string) =>
  `histogram_quantile(${q}, sum by (${by}) (rate(${selector}[$R])))`
