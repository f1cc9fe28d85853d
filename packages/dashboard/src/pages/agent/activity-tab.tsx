import { useAgent } from './agent-tabs.ts'
import { History } from './history.tsx'

export function ActivityTab() {
  return <History did={useAgent().did} />
}
