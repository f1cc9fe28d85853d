import assert from 'node:assert/strict'
import { readFileSync, renameSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { createLocalJWKSet, jwtVerify } from 'jose'
import {
  certificateOf,
  certificatePath,
  decodeJws,
  KEY_SET,
  keySetOf,
} from '../../../../../test/support/agent-certificates.ts'
import { ask } from '../../../../../test/support/ask.ts'
import { issuerKeyFilesIn } from '../../../../../test/support/copy-issuer-keys.ts'
import { textOfTables } from '../../../../../test/support/raw-database.ts'
import {
  claimAgent,
  countersignd,
  openOperator,
  startTestService,
  type TestService,
  tempDir,
  testEnv,
} from '../../../../../test/support/service.ts'
import { readFeed, readSnapshot } from '../../../../../test/support/status-feed.ts'
import { untilTicked } from '../../../../../test/support/until.ts'
import { readSettings } from '../../../src/base/config.ts'
import { IssuerKeyRing, OtherIssuerKeyError } from '../../../src/secrets/issuer-keys/issuer-keys.ts'

const MINUTE = 60_000
const DAY = 24 * 60 * MINUTE

/** A service whose clocks the test can move on, and one of its agents. */
async function startWithClock(t: TestContext) {
  let ahead = 0
  const now = () => Date.now() + ahead
  const service = await startTestService(t, {}, now, () => performance.now() + ahead)
  const did = await claimAgent(service, await service.operator.addVerifiedOwner())
  const moveOn = (milliseconds: number) => {
    ahead += milliseconds
  }
  return { service, did, now, moveOn }
}

/** The keys in the key set; empty while the service does not know their state, because the clock was moved. */
async function kidsOf(service: TestService): Promise<string[]> {
  const { status } = await ask(service, KEY_SET)
  return status === 200 ? (await keySetOf(service)).keys.map(({ kid }) => kid) : []
}

/** The key that signs now; null while the service signs nothing, because the clock was moved. */
async function signerOf(service: TestService, did: string): Promise<string | null> {
  const { status, text } = await ask(service, certificatePath(did))
  return status === 200 ? (decodeJws(text).header.kid as string) : null
}

async function isVerified(service: TestService, token: string, at: number): Promise<boolean> {
  const keys = createLocalJWKSet(await keySetOf(service))
  const options = { typ: 'dc+sd-jwt', issuer: service.url, currentDate: new Date(at) }
  return jwtVerify(token, keys, options).then(
    () => true,
    () => false,
  )
}

test('a rotation publishes the new key for as long as verifiers use a key set, and the old one while its certificates are valid', async (t) => {
  const { service, did, now, moveOn } = await startWithClock(t)
  const [old] = (await kidsOf(service)) as [string]
  const certificate = await certificateOf(service, did)
  assert.equal(decodeJws(certificate).header.kid, old)

  const began = now()
  const rotated = await countersignd(service.env, 'issuer-key', 'rotate', '--json')
  assert.equal(rotated.code, 0, rotated.stderr)
  const next = JSON.parse(rotated.stdout) as { id: string; state: string; file: string }
  assert.equal(next.state, 'published')
  const again = await countersignd(service.env, 'issuer-key', 'rotate')
  assert.match(again.stderr, /A rotation is under way/)
  assert.equal(issuerKeyFilesIn(service.settings.dataDir).length, 2, 'refused without a trace')

  await untilTicked(service, async () => (await kidsOf(service)).includes(next.id))
  assert.equal(await signerOf(service, did), old)
  await untilTicked(service, async () => {
    const signer = await signerOf(service, did)
    if (signer === old) moveOn(MINUTE)
    return signer === next.id
  })
  assert.ok(now() - began >= 10 * MINUTE, 'verifiers had the time to fetch the new key')
  assert.equal(await isVerified(service, certificate, now()), true)

  await untilTicked(service, async () => {
    const kids = await kidsOf(service)
    if (kids.includes(old)) moveOn(30 * MINUTE)
    return kids.length > 0 && !kids.includes(old)
  })
  assert.ok(now() - began > DAY, 'every certificate that it has signed has expired')
  assert.deepEqual((await kidsOf(service)).length, 2)
  const listed = await countersignd(service.env, 'issuer-key', 'list')
  assert.match(listed.stdout, new RegExp(`${old} +removed +present`))
  assert.match(listed.stdout, new RegExp(`${next.id} +active +present +since`))
})

test('a compromised key leaves the key set at once, and no certificate of it is handed out again', async (t) => {
  const { service, did, now } = await startWithClock(t)
  const stolen = await certificateOf(service, did)
  assert.equal(await isVerified(service, stolen, now()), true)
  // The attacker has a key that was prepared, too.
  assert.equal((await countersignd(service.env, 'issuer-key', 'rotate')).code, 0)
  const before = issuerKeyFilesIn(service.settings.dataDir)

  const answer = await countersignd(service.env, 'issuer-key', 'rotate', '--compromised', '--json')
  const { id, file } = JSON.parse(answer.stdout) as { id: string; file: string }
  assert.ok(!before.includes(file))
  await untilTicked(service, async () => (await kidsOf(service)).includes(id))
  const kids = await kidsOf(service)
  assert.equal(kids.length, 2)
  assert.ok(before.every((each) => !kids.includes(each.slice('issuer-key-'.length))))
  assert.equal(await isVerified(service, stolen, now()), false)
  const fresh = await certificateOf(service, did)
  assert.equal(decodeJws(fresh).header.kid, id)
  assert.equal(await isVerified(service, fresh, now()), true)
})

test('status lists, snapshots and heads that a compromised key has signed are not served again', async (t) => {
  // On a standing clock nothing else makes them old.
  const time = Date.now()
  const service = await startTestService(t, {}, () => time)
  const did = await claimAgent(service, await service.operator.addVerifiedOwner())
  const { uri } = decodeJws(await certificateOf(service, did)).claims.status.status_list
  const signers = async () => {
    const list = await ask(service, new URL(uri).pathname)
    const { manifest, head } = (await readSnapshot(service)).snapshot
    const tokens = [list.text, manifest, head, (await readFeed(service)).head]
    return new Set(tokens.map((token) => decodeJws(token).header.kid))
  }
  const [old] = await kidsOf(service)
  assert.deepEqual(await signers(), new Set([old]))
  const answer = await countersignd(service.env, 'issuer-key', 'rotate', '--compromised', '--json')
  const { id } = JSON.parse(answer.stdout) as { id: string }
  await untilTicked(service, async () => (await kidsOf(service)).includes(id))
  assert.deepEqual(await signers(), new Set([id]))
})

test('a node whose key is lost or changed refuses to start and says what to do', async (t) => {
  const first = await startTestService(t)
  const { dataDir } = first.settings
  const [file] = issuerKeyFilesIn(dataDir) as [string]
  const path = join(dataDir, file)
  assert.equal(statSync(path).mode & 0o777, 0o600)
  const secret = readFileSync(path, 'utf8').trim()
  const text = await textOfTables(first.settings)
  assert.ok(!text.includes(secret) && !text.includes(Buffer.from(secret, 'hex').toString('latin1')))
  await first.stop()

  renameSync(path, `${path}.lost`)
  const lost = await countersignd(first.env, 'serve')
  assert.equal(lost.code, 2)
  assert.ok(lost.stderr.includes(`${file} is missing in DATA_DIR. Copy that file`), lost.stderr)
  assert.match((await countersignd(first.env, 'doctor')).stdout, /fail +service keys: issuer-key-/)
  for (const changed of [`${'0'.repeat(64)}\n`, secret.slice(1)]) {
    writeFileSync(path, changed)
    const refused = await countersignd(first.env, 'serve')
    assert.equal(refused.code, 2)
    assert.ok(refused.stderr.includes(`${file} has been changed`), refused.stderr)
  }

  const replaced = await countersignd(first.env, 'issuer-key', 'rotate', '--compromised')
  assert.equal(replaced.code, 0, replaced.stderr)
  assert.match((await countersignd(first.env, 'doctor')).stdout, /ok +service keys/)
  const again = await startTestService(t, first.env)
  assert.equal((await kidsOf(again)).length, 2)
})

test('of two nodes that make the keys at the same time, one wins and the other is refused', async (t) => {
  const open = async () => {
    const operator = await openOperator(readSettings(await testEnv(t)))
    t.after(() => operator.close())
    const clocks = { now: Date.now, elapsed: () => performance.now(), certificateLifetimeMs: DAY }
    return (dir: string) =>
      IssuerKeyRing.open({
        db: operator.db,
        folders: { keysDir: dir, dataDir: dir },
        ...clocks,
      })
  }
  const openIn = await open()
  const opened = await Promise.allSettled([tempDir(t), tempDir(t)].map(openIn))
  const reasons = opened.flatMap((each) => (each.status === 'rejected' ? [each.reason] : []))
  assert.equal(reasons.length, 1)
  assert.ok(reasons[0] instanceof OtherIssuerKeyError)

  const shared = tempDir(t)
  const openShared = await open()
  const [one, two] = await Promise.all([openShared(shared), openShared(shared)])
  assert.equal(one.kid(), two.kid())
  assert.equal(issuerKeyFilesIn(shared).length, 1, 'the other key is deleted')
})
