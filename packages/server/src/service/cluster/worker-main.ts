import { readSettings } from '../../base/config.ts'
import { holdNewSpace } from '../../base/new-space.ts'
import { openLog } from '../../base/open-log.ts'
import { exitCodeOf, messageOf } from './exit-codes.ts'
import { WORKER_NUMBER } from './ipc-messages.ts'
import { PrimaryChannel } from './primary-channel.ts'

// Terminals and systemd signal all processes of a service. Workers ignore it: the primary tells them when to stop.
for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, () => undefined)

holdNewSpace()
const { startService } = await import('../service.ts')
const primary = new PrimaryChannel()
const settings = readSettings(process.env)
const log = openLog(settings.logLevel).child({ worker: Number(process.env[WORKER_NUMBER]) })
const starting = startService(settings, log, process.env, Date.now, primary)

function reportFailure(error: unknown): void {
  primary.send({ kind: 'failed', message: messageOf(error), exitCode: exitCodeOf(error) })
}

async function stop(): Promise<void> {
  const service = await starting
  await service.stop()
  primary.send({ kind: 'stopped' })
}

let isStopping = false
primary.onStop(() => {
  if (!isStopping) void stop().catch(reportFailure)
  isStopping = true
})
await starting.catch(reportFailure)
