import { accessSync, constants, existsSync, readdirSync, statfsSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { formatVerifierKey } from '@countersign/protocol'
import type { Command } from 'commander'
import { comparePepper, OtherPepperError } from '../../accounts/identity/pepper-check.ts'
import { findMismatch } from '../../agents/read-model/compare.ts'
import { type Env, misspeltSettings, readSettings, type Settings } from '../../base/config.ts'
import { timestamp } from '../../base/timestamp.ts'
import { inspectDatabase } from '../../database/maintenance/inspect.ts'
import { missingMigrations } from '../../database/migrate.ts'
import { directoryOf } from '../../database/open-database.ts'
import { OtherBaseUrlError, otherBaseUrl } from '../../database/same-base-url.ts'
import { LogAnchor } from '../../log/anchor.ts'
import { currentKey, witnessedLogs } from '../../log/cosigning/cosigned-log-table.ts'
import { lostTree, lostTreeMessage, openWitnessKey } from '../../log/cosigning/witness-key.ts'
import { readWitnessLogs } from '../../log/cosigning/witness-logs.ts'
import { haltOf } from '../../log/halted.ts'
import { currentEpoch } from '../../log/log-table.ts'
import { verifyStored } from '../../log/verify-stored.ts'
import { readWitnesses } from '../../log/witnesses/witness-policy.ts'
import { witnessRows } from '../../log/witnesses/witness-table.ts'
import { selfTestEd25519 } from '../../secrets/ed25519.ts'
import { isSecretFile, sharedSecretsIn } from '../../secrets/secret-files.ts'
import { readPepper, readSecretIfExists } from '../../secrets/secrets.ts'
import { Erasures } from '../privacy/erasures.ts'
import { compareKeys } from './compare-secrets.ts'
import { print, ReportedFailure } from './output.ts'

interface Finding {
  readonly check: string
  readonly verdict: 'ok' | 'warn' | 'fail'
  readonly detail: string
}

type Check = (settings: Settings) => Promise<Omit<Finding, 'check'>>

const MIN_FREE_BYTES = 1024 ** 3

/** In the order of the output. Checks only read: they create no file and apply no migration. */
const CHECKS: Readonly<Record<string, Check>> = {
  'Node.js': checkNode,
  Ed25519: checkEd25519,
  'data directory': checkDataDir,
  database: checkDatabase,
  'read model': checkReadModel,
  'identity pepper': checkPepper,
  'erased accounts': checkErasures,
  'service keys': checkServiceKeys,
  'key files': checkKeyFiles,
  'transparency log': checkLog,
  'stored log': checkStoredLog,
  'witnesses of the log': checkWitnesses,
  witness: checkWitness,
  'free disk': checkDisk,
  'base URL': checkBaseUrl,
  proxy: checkProxy,
  server: checkServer,
}

export function doctorCommand(program: Command, env: Env): void {
  program
    .command('doctor')
    .description('check the machine, the settings, the data and the server')
    .action(async (_options: unknown, command: Command) => {
      const misspelt = misspeltSettings(env).map(({ name, meant }) => ({
        check: 'settings',
        ...warn(`${name} is not a setting. Did you mean ${meant}?`),
      }))
      const findings = [...misspelt, ...(await inspect(readSettings(env)))]
      const text = findings.map((f) => `${f.verdict.padEnd(4)}  ${f.check}: ${f.detail}`).join('\n')
      print(command, findings, text)
      if (findings.some(({ verdict }) => verdict === 'fail')) throw new ReportedFailure()
    })
}

async function inspect(settings: Settings): Promise<Finding[]> {
  const findings: Finding[] = []
  for (const [check, run] of Object.entries(CHECKS)) {
    const found = await run(settings).catch((error: Error) => fail(error.message))
    findings.push({ check, ...found })
  }
  return findings
}

const ok = (detail: string) => ({ verdict: 'ok', detail }) as const
const warn = (detail: string) => ({ verdict: 'warn', detail }) as const
const fail = (detail: string) => ({ verdict: 'fail', detail }) as const

async function checkNode() {
  const [major, minor] = process.versions.node.split('.').map(Number) as [number, number]
  if (major > 24 || (major === 24 && minor >= 19)) return ok(process.version)
  return fail(`${process.version} is too old: 24.19 is needed`)
}

async function checkEd25519() {
  selfTestEd25519()
  return ok('valid signatures pass and forgeries fail')
}

async function checkDataDir({ dataDir }: Settings) {
  if (!existsSync(dataDir)) return warn('does not exist yet: the first start creates it')
  accessSync(dataDir, constants.R_OK | constants.W_OK)
  const open = statSync(dataDir).mode & 0o077
  return open === 0 ? ok('readable only by you') : warn('readable by other users: chmod 700')
}

async function checkKeyFiles({ keysDir, dataDir }: Settings) {
  const open = openFiles(dataDir, 0o077)
  if (keysDir !== dataDir) {
    if (!existsSync(keysDir)) return fail('KEYS_DIR does not exist')
    const twice = sharedSecretsIn(keysDir).filter((name) => {
      const other = readSecretIfExists([dataDir], name)
      return other !== null && readSecretIfExists([keysDir], name)?.equals(other) === false
    })
    if (twice.length > 0) {
      return warn(
        `KEYS_DIR and DATA_DIR differ in ${twice.join(', ')}: KEYS_DIR counts. Delete the files that do not count from DATA_DIR`,
      )
    }
    // A Secret of Kubernetes belongs to root, and the service reads it as a member of the group.
    open.push(...openFiles(keysDir, 0o037))
  }
  return open.length === 0
    ? ok('readable only by you')
    : warn(`other users may read ${open.join(', ')}: chmod 600`)
}

/** @param bits of the mode that make a file too open @returns the names of secret files */
function openFiles(dir: string, bits: number): string[] {
  const names = existsSync(dir) ? readdirSync(dir) : []
  return names.filter(isSecretFile).filter((name) => (statSync(join(dir, name)).mode & bits) !== 0)
}

async function checkDatabase({ database }: Settings) {
  if (isMissingFile(database)) return warn('does not exist yet: the first start creates it')
  const missing = await inspectDatabase(database, async ({ db, check }) => {
    await check()
    return missingMigrations(db)
  })
  if (missing.length > 0)
    return warn(`sound, migrations to apply: ${missing.join(', ')}; the next start does`)
  const isOpen = database.kind === 'sqlite' && (statSync(database.file).mode & 0o077) !== 0
  return isOpen
    ? warn('sound, schema up to date; readable by other users: chmod 600')
    : ok('sound, schema up to date')
}

/** What lookups would show, against the table. */
async function checkReadModel({ database }: Settings) {
  if (isMissingFile(database)) return ok('nothing to compare yet')
  const found = await inspectDatabase(database, async ({ db }) =>
    (await missingMigrations(db)).length > 0 ? 'pending' : findMismatch(db),
  )
  if (found === 'pending') return warn('not compared: migrations are pending')
  return found === null ? ok('lookups show what the table has') : fail(found)
}

function isMissingFile(database: Settings['database']): boolean {
  return database.kind === 'sqlite' && !existsSync(database.file)
}

async function checkPepper(settings: Settings) {
  const { database } = settings
  const pepper = readPepper(settings)
  const found = isMissingFile(database)
    ? 'unknown'
    : await inspectDatabase(database, async ({ db }) =>
        comparePepper(db, pepper, await missingMigrations(db)),
      )
  if (pepper === null && found === 'other') {
    return fail(
      'identity-pepper is missing in DATA_DIR. Copy it from another node or from the backup',
    )
  }
  if (pepper === null) return warn('does not exist yet: the first start creates it')
  if (found === 'other') return fail(new OtherPepperError().message)
  return ok(found === 'same' ? 'matches the data' : 'not used by the data yet')
}

/** Whether a restored database has accounts again that this node knows were erased. */
async function checkErasures({ dataDir, database }: Settings) {
  if (isMissingFile(database)) return ok('none is back')
  const back = await inspectDatabase(database, async ({ db }) =>
    (await missingMigrations(db)).length > 0 ? [] : new Erasures(dataDir).restoredIn(db),
  )
  if (back.length === 0) return ok('none is back')
  const accounts = back.map(
    ({ username, erasedAt }) => `${username} (erased ${timestamp(erasedAt)})`,
  )
  return fail(
    `a restore has brought back ${accounts.join(', ')}. Erase them again: countersignd owner delete <username>`,
  )
}

async function checkServiceKeys(settings: Settings) {
  const { database } = settings
  if (isMissingFile(database)) return warn('not there yet: the first start makes them')
  const { faults, isComplete } = await inspectDatabase(database, async ({ db }) =>
    // The table of settings may not exist yet.
    (await missingMigrations(db)).length > 0
      ? { faults: [], isComplete: false }
      : compareKeys(db, settings),
  )
  if (faults.length > 0) return fail(faults.map(({ message }) => message).join(' '))
  return isComplete
    ? ok('the same as on all nodes')
    : warn('not there yet: the next start makes them')
}

/** Whether the database has what this machine has signed or served. */
async function checkLog({ dataDir, database }: Settings) {
  if (isMissingFile(database)) return ok('not begun yet')
  const anchor = new LogAnchor(dataDir).read()
  const { epoch, halted } = await inspectDatabase(database, async ({ db }) => {
    if ((await missingMigrations(db)).length > 0) return { epoch: undefined, halted: null }
    return { epoch: await currentEpoch(db), halted: await haltOf(db, anchor) }
  })
  // A node that is new joins by itself.
  if (halted !== null) return (halted.code === 'no-anchor' ? warn : fail)(halted.message)
  if (epoch !== undefined) return ok(`${epoch.published_size} entries are signed`)
  return anchor === null
    ? ok('not begun yet: the service begins it when it runs')
    : fail('log-head in DATA_DIR is of a log that the database does not have: it was restored')
}

/** Recomputes the log from its entries. */
async function checkStoredLog({ database }: Settings) {
  if (isMissingFile(database)) return ok('not begun yet')
  const fault = await inspectDatabase(database, async ({ db }) =>
    (await missingMigrations(db)).length > 0 ? null : verifyStored(db),
  )
  return fault === null
    ? ok('entries, tiles, roots, checkpoints and the chain of the status feed agree')
    : fail(fault)
}

/** What the witnesses of the log have answered to the service. */
async function checkWitnesses(settings: Settings) {
  const policy = readWitnesses(settings)
  if (policy === null) return ok('none are set')
  const keys = new Map(
    policy.witnesses.map(({ key }) => [formatVerifierKey(key), key.name] as const),
  )
  const { database } = settings
  const rows = isMissingFile(database)
    ? []
    : await inspectDatabase(database, async ({ db }) => {
        const isOld = (await missingMigrations(db)).length > 0
        const epoch = isOld ? undefined : await currentEpoch(db)
        return epoch === undefined ? [] : witnessRows(db, epoch.epoch, [...keys.keys()])
      })
  const refusing = rows.find(({ problem }) => problem !== null)
  if (refusing !== undefined) return fail(refusing.problem as string)
  const failing = rows.find(({ failure }) => failure !== null)
  if (failing !== undefined)
    return warn(`${keys.get(failing.witness)} fails: ${failing.failure as string}`)
  const isComplete = rows.filter(({ cosignature }) => cosignature !== null).length === keys.size
  return isComplete
    ? ok(`all ${keys.size} have cosigned`)
    : warn('not all have cosigned yet: the service asks them when it runs')
}

/** Whether the witness would sign on this machine. */
async function checkWitness(settings: Settings) {
  const { dataDir, database } = settings
  const logs = readWitnessLogs(settings)
  if (logs === null) return ok('off: WITNESS_LOGS is not set')
  const notBegun = ok('not begun yet: the next start makes the key')
  if (isMissingFile(database)) return notBegun
  return inspectDatabase(database, async ({ db }) => {
    if ((await missingMigrations(db)).length > 0) return notBegun
    if ((await currentKey(db)) === undefined) return notBegun
    const { key, known } = await openWitnessKey(db, dataDir)
    const lost = lostTree(known, await witnessedLogs(db))
    return lost === null
      ? ok(`${key.name} cosigns ${logs.length} logs`)
      : fail(lostTreeMessage(lost))
  })
}

async function checkDisk({ dataDir, database }: Settings) {
  const directory = directoryOf(database, dataDir)
  if (!existsSync(directory)) return ok('nothing to store yet')
  const { bavail, bsize } = statfsSync(directory)
  const text = `${((Number(bavail) * Number(bsize)) / 1024 ** 3).toFixed(1)} GiB`
  return Number(bavail) * Number(bsize) < MIN_FREE_BYTES ? warn(`${text} is low`) : ok(text)
}

async function checkBaseUrl({ baseUrl, database }: Settings) {
  const other = isMissingFile(database)
    ? null
    : await inspectDatabase(database, async ({ db }) =>
        // The table of settings may not exist yet.
        (await missingMigrations(db)).length > 0 ? null : otherBaseUrl(db, baseUrl),
      )
  if (other !== null) return fail(new OtherBaseUrlError(other, baseUrl.origin).message)
  const loopback = ['localhost', '127.0.0.1', '[::1]'].includes(baseUrl.hostname)
  if (baseUrl.protocol === 'https:' || loopback) return ok(baseUrl.origin)
  return warn('not https: callers cannot verify the service')
}

async function checkProxy({ host, trustedProxies }: Settings) {
  const isLoopback = host === 'localhost' || host === '::1' || /^127\.\d+\.\d+\.\d+$/.test(host)
  if (isLoopback || trustedProxies.length > 0) return ok('clients reach it through a proxy')
  return warn(
    `HOST is ${host} and TRUSTED_PROXIES is empty: put a proxy before the port, and do not expose it`,
  )
}

async function checkServer({ baseUrl }: Settings) {
  try {
    const response = await fetch(new URL('/readyz', baseUrl), { signal: AbortSignal.timeout(3000) })
    return response.ok ? ok('ready') : warn(`answers ${response.status}`)
  } catch {
    return warn('does not answer at the base URL')
  }
}
