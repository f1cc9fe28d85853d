import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { connect } from 'node:net'
import { freePort } from './ports.ts'
import { type Cleanup, tempDir } from './service.ts'
import { until } from './until.ts'

/** A Redis server for one test, without persistence. */
export interface RedisServer {
  readonly url: string
  /** SIGKILL. */
  kill(): Promise<void>
  /** Starts it again on the same port, empty. */
  start(): Promise<void>
}

/** @param password what clients have to know; empty, the default: none */
export async function startRedis(t: Cleanup, password = ''): Promise<RedisServer> {
  const port = await freePort('127.0.0.1')
  const dir = tempDir(t)
  let child: ChildProcess | null = null
  const kill = async () => {
    if (child === null || child.exitCode !== null || child.signalCode !== null) return
    child.kill('SIGKILL')
    await once(child, 'exit')
  }
  const start = async () => {
    const inMemory = { save: '', appendonly: 'no' }
    const settings = { port, bind: '127.0.0.1', dir, ...inMemory, requirepass: password }
    const args = Object.entries(settings).flatMap(([name, value]) => [`--${name}`, String(value)])
    child = spawn('redis-server', args, { stdio: 'ignore' })
    await until(() => answers(port), 60_000)
  }
  t.after(kill)
  await start()
  return { url: `redis://127.0.0.1:${port}/0`, kill, start }
}

function answers(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1', () => {
      socket.write('PING\r\n')
    })
    socket.once('data', (data) => {
      resolve(/^(\+PONG|-NOAUTH)/.test(data.toString()))
      socket.destroy()
    })
    socket.once('error', () => resolve(false))
  })
}
