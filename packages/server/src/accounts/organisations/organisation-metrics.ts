import type { Db } from '../../database/database.ts'
import type { MetricRegistrar } from '../../http/metrics/metric-registrar.ts'
import { countOrganisations } from '../owner-table.ts'
import { countMembersBySource } from './membership-table.ts'

/** Registers how many organisations there are, and how many members they have. */
export function registerOrganisations(metrics: MetricRegistrar, db: Db): void {
  metrics.gauge('countersign_organisations', 'Organisations', () => countOrganisations(db))
  metrics.labelledGauge(
    'countersign_members',
    'Members of organisations, by how they got their role',
    ['source'],
    async () => {
      const counts = await countMembersBySource(db)
      return Object.entries(counts).map(([source, count]) => [{ source }, count] as const)
    },
  )
}
