import { useAgent } from './agent-tabs.ts'
import { ChannelsSection } from './channels-section.tsx'

export function ChannelsTab() {
  return <ChannelsSection {...useAgent()} />
}
