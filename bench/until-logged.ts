import { setTimeout as sleep } from 'node:timers/promises'
import { HOST } from './http-exchange.ts'

/** Waits until the log has an entry for each of so many agents, which a service adds after its start, and would add under load. */
export async function untilLogged(port: number, agents: number): Promise<void> {
  for (;;) {
    const size = await logSize(port)
    if (size === null || size >= agents) return
    await sleep(100)
  }
}

/** The number of entries under the published checkpoint: 0 before the first one, null for a release without a log. */
async function logSize(port: number): Promise<number | null> {
  const response = await fetch(`http://${HOST}:${port}/log/checkpoint`)
  const text = await response.text()
  if (response.status === 404) return null
  return response.ok ? Number(text.split('\n')[1]) : 0
}
