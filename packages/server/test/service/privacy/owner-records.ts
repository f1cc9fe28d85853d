import { randomBytes } from 'node:crypto'
import type { Insertable } from 'kysely'
import type { TestService } from '../../../../../test/support/service.ts'
import type { Tables } from '../../../src/database/database.ts'

/** Unique secrets and names to search for. */
export interface OwnerRecords {
  readonly secrets: readonly Buffer[]
  readonly names: readonly string[]
}

/** Inserts one row for an owner into each table of accounts. */
export async function insertOwnerRecords(
  service: TestService,
  ownerId: number,
): Promise<OwnerRecords> {
  const now = Date.now()
  const unique = `u${randomBytes(6).toString('hex')}`
  const secret = () => randomBytes(32)
  const secrets = [secret(), secret(), secret(), secret(), secret()] as const
  const [publicKey, code, subject, link, flow] = secrets
  const [credential, name] = [`credential-${unique}`, `key-${unique}`]
  const [state, reference, handle] = [`state-${unique}`, `reference-${unique}`, `handle-${unique}`]
  const id = `id-${unique}`
  const address = `${unique}@mail.example`
  const ofOwner = { owner_id: ownerId, created_at: now }
  const lease = { leased_by: null, held_until: 0 }
  await service.operator.db.write(async ({ db }) => {
    const put = <T extends keyof Tables>(table: T, values: Insertable<Tables[T]>) =>
      db
        .insertInto(table)
        .values(values as never)
        .execute()
    await db.updateTable('owners').set({ user_handle: handle }).where('id', '=', ownerId).execute()
    await put('passkeys', {
      ...ofOwner,
      credential_id: credential,
      public_key: publicKey,
      counter: 7,
      transports: '["internal"]',
      backed_up: 1,
      name,
      last_used_at: null,
    })
    await put('api_keys', {
      ...ofOwner,
      hash: randomBytes(32),
      id,
      name: 'CI',
      scopes: 'agents:read',
      last_four: 'abcd',
      last_used_at: null,
      // Late enough that the owner is not warned of it while a test runs.
      expires_at: now + 300 * 86_400_000,
    })
    await put('email_addresses', {
      id,
      owner_id: ownerId,
      address,
      added_at: now,
      verified_at: now,
      token_hash: null,
      token_expires_at: null,
    })
    await put('email_preferences', { owner_id: ownerId, kind: 'new_sign_in', enabled: 0 })
    await put('email_outbox', {
      ...ofOwner,
      ...lease,
      id,
      address,
      address_id: id,
      notification_id: null,
      due_at: now + 86_400_000,
      attempts: 0,
      interruptions: 0,
    })
    await put('notifications', {
      ...ofOwner,
      id,
      kind: 'new_sign_in',
      subject: unique,
      details: JSON.stringify({ method: 'passkey', browser: 'Firefox', signedInAt: now }),
      read_at: null,
    })
    await put('webhook_endpoints', {
      ...ofOwner,
      ...lease,
      id: `wh_${unique}`,
      url: `https://hooks.example/${name}`,
      created_by_key: null,
      format: 'set',
      audience: `https://hooks.example/${name}`,
      sealed_authorization: Buffer.from(unique),
      // No event of this type comes, so that no delivery is added while a test runs.
      types: 'agent.key_contested',
      state: 'paused',
      disabled_reason: null,
      secret_salt: unique,
      previous_salt: unique,
      previous_until: now + 86_400_000,
      after_seq: 0,
      due_at: 0,
      failures: 0,
      failing_since: null,
      delivered_at: null,
    })
    await put('webhook_deliveries', {
      id: `msg_${unique}`,
      endpoint_id: `wh_${unique}`,
      seq: null,
      type: 'webhook.test',
      tail: null,
      at: now,
      state: 'failed',
      created_at: now,
      attempts: 1,
      attempted_at: now,
      status: null,
      problem: `no ${reference}`,
      duration_ms: 5,
    })
    const issuer = randomBytes(16).toString('hex')
    await put('grant_issuers', { ...ofOwner, id: issuer, name, deleted_at: null })
    await put('recovery_codes', { ...ofOwner, hash: code })
    await put('sign_in_identities', { ...ofOwner, provider: 'github', subject_hash: subject })
    const expires_at = now + 60_000
    await put('sign_in_links', { hash: link, owner_id: ownerId, expires_at })
    await put('flows', {
      hash: flow,
      kind: 'identity',
      owner_id: ownerId,
      provider: 'github',
      reference,
      state: JSON.stringify({ state }),
      expires_at,
    })
  })
  return { secrets, names: [credential, name, state, reference, handle] }
}
