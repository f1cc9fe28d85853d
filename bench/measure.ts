import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { measureFootprint } from './footprint.ts'
import { inspectMachine, pinSelf } from './machine.ts'
import { measureApprovals } from './measure-approvals.ts'
import { measureCertificates } from './measure-certificates.ts'
import { measureClaims } from './measure-claims.ts'
import { measureEnrolment } from './measure-enrolment.ts'
import { measureEvents } from './measure-events.ts'
import { measureFollowers } from './measure-followers.ts'
import { measureGateway } from './measure-gateway.ts'
import { measureKeys } from './measure-keys.ts'
import { measureOffline } from './measure-offline.ts'
import { measureOrganisations } from './measure-organisations.ts'
import { measureNonces, measureProof } from './measure-proof.ts'
import { measurePublic } from './measure-public.ts'
import { measureReports } from './measure-reports.ts'
import { measureScale } from './measure-scale.ts'
import { measureSigning } from './measure-signing.ts'
import { measureTransactions } from './measure-transactions.ts'
import type { Options } from './options.ts'
import type { Report, Results, SeedReport } from './report.ts'
import { requestSamplesOf } from './request-samples.ts'
import type { Scope } from './scope.ts'
import { prepareSeed, type Seed } from './seed.ts'
import { preparePostgresSeed, startOnCopy } from './seed-postgres.ts'
import { postgresStore, sqliteStore } from './stores.ts'
import type { Bench } from './systems.ts'
import { WaitBudget } from './wait-budget.ts'

/** The read model's default capacity, which must also have room for the agents that a run claims. */
const DEFAULT_CAPACITY = 2_000_000
const MAX_CLAIMS = 1_000_000

/**
 * Seeds the databases and runs the requested measurements.
 * @param say reports progress
 */
export async function measure(
  scope: Scope,
  options: Options,
  say: (line: string) => void,
): Promise<Report> {
  const dir = mkdtempSync(join(tmpdir(), 'countersign-bench-run-'))
  scope.defer(() => rmSync(dir, { recursive: true, force: true }))
  const machine = inspectMachine(dir, options.generator)
  say(`${options.agents} agents`)
  const seed = await prepareSeed(scope, options.agents, options)
  const seeds: SeedReport[] = [{ path: seed.dir, seconds: seed.seconds }]
  let store = sqliteStore(dir)
  if (options.database === 'postgres') {
    const seeded = await preparePostgresSeed(scope, seed, options)
    seeds.push({ path: seeded.dir, seconds: seeded.seconds })
    const server = await startOnCopy(scope, seeded, machine.pinned?.load ?? null)
    store = await postgresStore(dir, server, seed.database)
  }
  const waitBudget = new WaitBudget(options.patience)
  const settings = settingsFor(options.agents)
  const bench: Bench = { scope, machine, dir, store, settings, waitBudget, say }
  pinSelf(machine)
  const results = await measureAll(bench, options, seed)
  const { agents, seconds, connections, claimConnections, rounds } = options
  return {
    options: { agents, seconds, connections, claimConnections, rounds },
    machine,
    database: store.about,
    settings,
    ...results,
    errors: 0,
    seeds,
  }
}

async function measureAll(bench: Bench, options: Options, seed: Seed): Promise<Results> {
  const requestSamples = requestSamplesOf(seed)
  const footprint = options.parts.has('footprint')
    ? await measureFootprint(bench, options, requestSamples)
    : null
  const alone = [
    ...(await measurePublic(bench, options, requestSamples)),
    ...(await measureCertificates(bench, options, seed)),
    ...(await measureClaims(bench, options, seed)),
    ...(await measureTransactions(bench, options, seed)),
    ...(await measureGateway(bench, options, seed)),
    ...(await measureProof(bench, options, seed)),
  ]
  const keys = options.parts.has('keys') ? await measureKeys(bench, options, seed) : null
  const nonces = options.parts.has('nonces') ? await measureNonces(bench) : null
  const signing = options.parts.has('signing') ? await measureSigning(bench) : null
  const organisations = options.parts.has('organisations')
    ? await measureOrganisations(bench)
    : null
  const enrolment = options.parts.has('enrolment') ? await measureEnrolment(bench) : null
  const events = options.parts.has('events') ? await measureEvents(bench) : null
  const offline = options.parts.has('offline') ? await measureOffline(bench, options) : null
  const followers = options.parts.has('followers') ? await measureFollowers(bench, options) : null
  const { measurements, revocations } = await measureScale(bench, options, requestSamples)
  const all = [...alone, ...measurements]
  const approvals = options.parts.has('approvals') ? await measureApprovals(bench) : null
  const reports = options.parts.has('reports') ? await measureReports(bench) : null
  const ofOwners = { revocations, keys, organisations, enrolment, approvals, events, reports }
  return { measurements: all, ...ofOwners, nonces, signing, offline, followers, footprint }
}

/** The settings that differ from the defaults. */
function settingsFor(agents: number): Record<string, string> {
  const held = agents + MAX_CLAIMS
  return held <= DEFAULT_CAPACITY ? {} : { READ_MODEL_AGENTS: String(held) }
}
