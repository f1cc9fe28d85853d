import type { OwnerAgent, SessionState } from '@countersign/protocol'
import { toCsv } from '../../agents/csv.ts'
import { didOf } from '../../agents/did.ts'
import { saveFile } from '../../components/save-file.ts'

type Service = SessionState['service']

export function exportJson(agents: readonly OwnerAgent[]): void {
  saveFile('agents.json', `${JSON.stringify(agents, null, 2)}\n`, 'application/json')
}

export function exportCsv(agents: readonly OwnerAgent[], service: Service): void {
  saveFile('agents.csv', agentsCsv(agents, service), 'text/csv')
}

const COLUMNS = [
  'did',
  'label',
  'display_name',
  'username',
  'description',
  'status',
  'status_reason',
  'grade',
  'claimed_at',
  'key_thumbprint',
  'certificate_url',
]

/** One row for each agent. */
function agentsCsv(agents: readonly OwnerAgent[], service: Service): string {
  const rows = agents.map((agent) => [
    didOf(service, agent),
    agent.agentId,
    agent.displayName,
    agent.username ?? '',
    agent.description,
    agent.status,
    agent.statusReason ?? '',
    agent.grade,
    agent.claimedAt,
    agent.keyThumbprint,
    agent.certificateUrl,
  ])
  return toCsv(COLUMNS, rows)
}
