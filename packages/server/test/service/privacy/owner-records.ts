import { randomBytes } from 'node:crypto'
import type { TestService } from '../../../../../test/support/service.ts'

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
  const secrets = Array.from({ length: 5 }, () => randomBytes(32)) as [
    Buffer,
    Buffer,
    Buffer,
    Buffer,
    Buffer,
  ]
  const [publicKey, code, subject, link, flow] = secrets
  const names = ['credential', 'key', 'state', 'reference', 'handle'].map(
    (each) => `${each}-${unique}`,
  )
  const [credential, name, state, reference, handle] = names as [
    string,
    string,
    string,
    string,
    string,
  ]
  await service.operator.db.write(async ({ db }) => {
    await db.updateTable('owners').set({ user_handle: handle }).where('id', '=', ownerId).execute()
    await db
      .insertInto('passkeys')
      .values({
        credential_id: credential,
        owner_id: ownerId,
        public_key: publicKey,
        counter: 7,
        transports: '["internal"]',
        backed_up: 1,
        name,
        created_at: now,
        last_used_at: null,
      })
      .execute()
    await db
      .insertInto('api_keys')
      .values({
        hash: randomBytes(32),
        id: `id-${unique}`,
        owner_id: ownerId,
        name: 'CI',
        scopes: 'agents:read',
        last_four: 'abcd',
        last_used_at: null,
        // Late enough that the owner is not warned of it while a test runs.
        ...{ created_at: now, expires_at: now + 300 * 86_400_000 },
      })
      .execute()
    const address = `${unique}@mail.example`
    const mail = { owner_id: ownerId, address, created_at: now }
    await db
      .insertInto('email_addresses')
      .values({
        id: `id-${unique}`,
        owner_id: ownerId,
        address,
        added_at: now,
        verified_at: now,
        token_hash: null,
        token_expires_at: null,
      })
      .execute()
    await db
      .insertInto('email_preferences')
      .values({ owner_id: ownerId, kind: 'new_sign_in', enabled: 0 })
      .execute()
    await db
      .insertInto('email_outbox')
      .values({
        ...mail,
        id: `id-${unique}`,
        address_id: `id-${unique}`,
        notification_id: null,
        due_at: now + 86_400_000,
        attempts: 0,
        leased_by: null,
        held_until: 0,
        interruptions: 0,
      })
      .execute()
    await db
      .insertInto('notifications')
      .values({
        id: `id-${unique}`,
        owner_id: ownerId,
        kind: 'new_sign_in',
        subject: unique,
        details: JSON.stringify({ method: 'passkey', browser: 'Firefox', signedInAt: now }),
        created_at: now,
        read_at: null,
      })
      .execute()
    await db
      .insertInto('webhook_endpoints')
      .values({
        id: `wh_${unique}`,
        owner_id: ownerId,
        url: `https://hooks.example/${name}`,
        // No event of this type comes, so that no delivery is added while a test runs.
        ...{
          types: 'agent.key_contested',
          state: 'paused',
          disabled_reason: null,
          secret_salt: unique,
        },
        previous_salt: unique,
        previous_until: now + 86_400_000,
        created_at: now,
        after_seq: 0,
        due_at: 0,
        failures: 0,
        failing_since: null,
        delivered_at: null,
        leased_by: null,
        held_until: 0,
      })
      .execute()
    await db
      .insertInto('webhook_deliveries')
      .values({
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
      .execute()
    await db
      .insertInto('grant_issuers')
      .values({
        id: randomBytes(16).toString('hex'),
        owner_id: ownerId,
        name,
        created_at: now,
        deleted_at: null,
      })
      .execute()
    await db
      .insertInto('recovery_codes')
      .values({ hash: code, owner_id: ownerId, created_at: now })
      .execute()
    await db
      .insertInto('sign_in_identities')
      .values({ provider: 'github', subject_hash: subject, owner_id: ownerId, created_at: now })
      .execute()
    await db
      .insertInto('sign_in_links')
      .values({ hash: link, owner_id: ownerId, expires_at: now + 60_000 })
      .execute()
    await db
      .insertInto('flows')
      .values({
        hash: flow,
        kind: 'identity',
        owner_id: ownerId,
        provider: 'github',
        reference,
        state: JSON.stringify({ state }),
        expires_at: now + 60_000,
      })
      .execute()
  })
  return { secrets, names }
}
