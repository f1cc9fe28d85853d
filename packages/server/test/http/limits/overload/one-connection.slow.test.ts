import assert from 'node:assert/strict'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { connect } from 'node:net'
import { test } from 'node:test'
import { startServiceProcess } from '../../../../../../test/support/service.ts'
import { PATIENT } from './support.ts'

const MIB = 1024 * 1024
const SHAPES = [
  { connections: 4, requests: 1000, cookie: '' },
  { connections: 300, requests: 30, cookie: '' },
  { connections: 300, requests: 16, cookie: '' },
  { connections: 300, requests: 16, cookie: 'Cookie: session=nobody\r\n' },
] as const

for (const { connections, requests, cookie } of SHAPES) {
  test(`${connections} connections that ask for ${requests} large pages and read nothing${cookie && ', with a session'}: memory is bounded, others are answered`, async (t) => {
    const service = await startServiceProcess(t, {
      ...PATIENT,
      MAX_CONNECTIONS_PER_ADDRESS: 'off',
    })
    // Loads the page, so that what is measured is the attack alone.
    assert.equal((await fetch(`${service.url}/docs/api/account`)).status, 200)
    const before = memoryOf(service.child.pid)
    const workedBefore = processorTimeOf(service.child.pid)
    const request = `GET /docs/api/account HTTP/1.1\r\nHost: x\r\n${cookie}\r\n`
    const { port, hostname } = new URL(service.url)
    await Promise.all(
      Array.from({ length: connections }, async () => {
        const socket = connect({ host: hostname, port: Number(port) })
        socket.on('error', () => undefined)
        t.after(() => socket.destroy())
        await once(socket, 'connect')
        socket.pause()
        socket.write(request.repeat(requests))
      }),
    )
    const began = performance.now()
    assert.equal((await fetch(`${service.url}/healthz`)).status, 200)
    const waited = Math.round(performance.now() - began)
    // Processor time instead of the clock's: other programs on the machine prolong only the latter.
    const worked = Math.round(processorTimeOf(service.child.pid) - workedBefore)
    // Once more: what was still in the kernel's buffers has been read by then.
    assert.equal((await fetch(`${service.url}/healthz`)).status, 200)
    const grown = memoryOf(service.child.pid) - before
    t.diagnostic(
      `${Math.round(grown / MIB)} MiB more at the peak, /healthz after ${worked} ms of work, ${waited} ms`,
    )
    assert.ok(grown < 150 * MIB, `${Math.round(grown / MIB)} MiB`)
    // 1,050 ms at most were measured beside seven busy programs, which slow down each instruction too.
    assert.ok(worked < 2000, `${worked} ms`)
  })
}

/** The most memory that a process has had, in bytes. */
function memoryOf(pid: number | undefined): number {
  const [, kibibytes] = /VmHWM:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? []
  return Number(kibibytes) * 1024
}

/** The processor time that a process has used, in milliseconds. */
function processorTimeOf(pid: number | undefined): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? []
  // User and system time, in ticks of 10 ms.
  return (Number(fields[11]) + Number(fields[12])) * 10
}
