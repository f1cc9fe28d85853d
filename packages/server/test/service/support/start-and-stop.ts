import { pino } from 'pino'
import { readSettings } from '../../../src/base/config.ts'
import { startService } from '../../../src/service/service.ts'

/**
 * A program for node --expose-gc: starts and stops services one after another, then prints how many of the objects
 * that they were given are still referenced once garbage has been collected.
 */
const env = process.env as Record<string, string>
const given: WeakRef<object>[] = []

for (let i = 0; i < Number(env.STARTS); i++) await startAndStop()
for (let turns = 0; turns < 100 && countReferenced() > 0; turns++) {
  // Sockets and timers that have been closed are let go in later turns of the event loop.
  await new Promise((resolve) => setTimeout(resolve, 5))
  globalThis.gc?.()
}
console.log(countReferenced())
process.exit()

async function startAndStop(): Promise<void> {
  const settings = readSettings(env)
  const now = () => Date.now()
  const service = await startService(settings, pino({ level: 'silent' }), env, now)
  given.push(new WeakRef(now), new WeakRef(settings))
  for (const url of [
    `http://localhost:${env.PORT}/`,
    `http://localhost:${env.METRICS_PORT}/metrics`,
  ])
    await (await fetch(url)).text()
  await service.stop()
}

function countReferenced(): number {
  return given.filter((each) => each.deref() !== undefined).length
}
