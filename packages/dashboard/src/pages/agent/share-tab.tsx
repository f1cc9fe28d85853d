import { useAgent } from './agent-tabs.ts'
import { Sharing } from './sharing.tsx'

export function ShareTab() {
  return <Sharing {...useAgent()} />
}
