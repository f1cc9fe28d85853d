import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { measureFootprint } from './footprint.ts'
import { inspectMachine, pinMyself } from './machine.ts'
import { materialOf } from './material.ts'
import { measureClaims } from './measure-claims.ts'
import { measureGateway } from './measure-gateway.ts'
import { measurePublic } from './measure-public.ts'
import { HELP, type Options, readOptions, UsageError } from './options.ts'
import { Patience } from './patience.ts'
import { type Report, tableOf } from './report.ts'
import { Scope } from './scope.ts'
import { prepareSeed } from './seed.ts'
import type { Bench } from './systems.ts'

/** Standard output is for the report alone. */
const say = (line: string) => console.error(`bench: ${line}`)

try {
  const options = readOptions(process.argv.slice(2))
  if (options === null) console.log(HELP)
  else await main(options)
} catch (error) {
  if (error instanceof UsageError) console.error(`${error.message}\n\n${HELP}`)
  else console.error(error)
  process.exitCode = error instanceof UsageError ? 2 : 1
}

async function main(options: Options): Promise<void> {
  const scope = new Scope()
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.once(signal, () => scope.end().finally(() => process.exit(130)))
  }
  try {
    const report = await measure(scope, options)
    console.log(options.json ? JSON.stringify(report, null, 2) : tableOf(report))
  } finally {
    await scope.end()
  }
}

async function measure(scope: Scope, options: Options): Promise<Report> {
  const dir = mkdtempSync(join(tmpdir(), 'countersign-bench-run-'))
  scope.defer(() => rmSync(dir, { recursive: true, force: true }))
  const machine = inspectMachine(dir, options.generator)
  say(`${options.agents} agents`)
  const seed = await prepareSeed(scope, options.agents, options)
  const bench: Bench = { scope, machine, dir, say, patience: new Patience(options.patience) }
  pinMyself(machine)
  const material = materialOf(seed)
  const { agents, seconds, connections, rounds, parts } = options
  const footprint = parts.has('footprint') ? await measureFootprint(bench, options, material) : null
  const measurements = [
    ...(await measurePublic(bench, options, material)),
    ...(await measureClaims(bench, options, seed)),
    ...(await measureGateway(bench, options, seed)),
  ]
  return {
    options: { agents, seconds, connections, rounds },
    machine,
    measurements,
    footprint,
    errors: 0,
    seed: { path: seed.dir, seconds: seed.seconds },
  }
}
