import { pino } from 'pino'
import { readSettings } from '../config/config.ts'
import { startService } from '../service/service.ts'
import { exitCodeOf, messageOf } from './exit-codes.ts'
import { NUMBER } from './messages.ts'
import { PrimaryChannel } from './primary-channel.ts'

// A terminal and systemd signal every process of a service: the primary alone says when to stop.
for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, () => undefined)

const primary = new PrimaryChannel()
const settings = readSettings(process.env)
const log = pino({ level: settings.logLevel }).child({ worker: Number(process.env[NUMBER]) })
const starting = startService(settings, log, process.env, Date.now, primary)

function fail(error: unknown): void {
  primary.send({ kind: 'failed', message: messageOf(error), exitCode: exitCodeOf(error) })
}

async function stop(): Promise<void> {
  const service = await starting
  await service.stop()
  primary.send({ kind: 'stopped' })
}

let isStopping = false
primary.onStop(() => {
  if (!isStopping) void stop().catch(fail)
  isStopping = true
})
await starting.catch(fail)
