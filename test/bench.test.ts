import assert from 'node:assert/strict'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import type { Report } from '../bench/report.ts'
import { ROOT, run, tempDir } from './support/service.ts'

const MEASURED = ['lookup', 'verify', 'claim']

test('the bench measures three systems without an error, prints JSON alone, and cleans up', async (t) => {
  const dir = tempDir(t)
  const args = ['--agents', '200', '--seconds', '1', '--rounds', '1', '--json']
  const only = ['--only', [...MEASURED, 'footprint'].join(',')]
  const { code, stdout, stderr } = await bench(dir, ...args, ...only)
  assert.equal(code, 0, stderr)
  const { options, measurements, footprint, machine, errors }: Report = JSON.parse(stdout)
  assert.deepEqual(options, { agents: 200, seconds: 1, connections: 64, rounds: 1 })
  assert.equal(errors, 0)
  assert.match(machine.generator, /^(wrk|autocannon)$/)
  assert.deepEqual(
    measurements.map(({ name }) => name),
    MEASURED,
  )
  for (const { name, perSecond, ratioToCeiling, ratioToNaive, rounds } of measurements) {
    assert.equal(rounds.length, 1)
    assert.ok(perSecond.countersign && perSecond.countersign > 0)
    assert.ok(ratioToNaive && ratioToNaive > 0)
    assert.equal(ratioToCeiling === null, name.startsWith('claim'))
  }
  assert.ok(footprint && footprint.startUp.readyMs > 0)
  assert.deepEqual(
    readdirSync(dir).filter((name) => !name.startsWith('countersign-bench-seed-')),
    [],
  )
})

test('the bench measures a site with the gateway beside the same site without it', async (t) => {
  const names = ['gateway-express', 'gateway-fastify', 'gateway-uncached']
  const args = ['--agents', '200', '--seconds', '1', '--rounds', '1', '--json']
  const { code, stdout, stderr } = await bench(tempDir(t), ...args, '--only', names.join(','))
  assert.equal(code, 0, stderr)
  const { measurements, errors }: Report = JSON.parse(stdout)
  assert.equal(errors, 0)
  assert.deepEqual(
    measurements.map(({ name }) => name),
    names,
  )
  for (const { name, perSecond, ratioToCeiling } of measurements) {
    assert.ok(perSecond.countersign && perSecond.countersign > 0)
    assert.equal(ratioToCeiling === null, name === 'gateway-uncached')
  }
})

test('the bench says what it takes, and refuses what it does not know', async (t) => {
  const dir = tempDir(t)
  const help = await bench(dir, '--help')
  assert.equal(help.code, 0)
  assert.match(help.stdout, /--agents N/)
  for (const mistake of [['--agents', 'many'], ['--only', 'everything'], ['--swift']]) {
    const { code, stdout } = await bench(dir, ...mistake)
    assert.equal(code, 2)
    assert.equal(stdout, '')
  }
})

/** @param dir for temporary files */
function bench(dir: string, ...args: string[]) {
  return run(process.execPath, [join(ROOT, 'bench/main.ts'), ...args], { TMPDIR: dir })
}
