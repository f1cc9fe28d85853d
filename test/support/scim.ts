import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { ERROR_STATUS, type ErrorCode, SCIM_TYPE, SCIM_URNS } from '@countersign/protocol'
import { linkScimUser } from '../../packages/server/src/accounts/organisations/scim/scim-user-table.ts'
import { ownerByUsername } from '../../packages/server/src/accounts/owner-table.ts'
import { insertPasskey } from '../../packages/server/src/accounts/owners/sign-in-method-table.ts'
import type { Database } from '../../packages/server/src/database/database.ts'
import { type Answer, jsonOf } from './answer.ts'
import { ask } from './ask.ts'
import type { Member, TestOrganisation } from './organisations.ts'
import type { TestService } from './service.ts'

/** Gives an organisation a connection to an identity provider that nobody signs in at. */
export async function connectSso(db: Database, username: string): Promise<void> {
  const organisation = await ownerByUsername(db.read, username)
  const at = Date.now()
  await db.write((tx) =>
    tx.db
      .insertInto('sso_connections')
      .values({
        id: `sso-${randomBytes(6).toString('hex')}`,
        org_id: organisation?.id as number,
        issuer: 'https://idp.example',
        client_id: 'countersign',
        sealed_secret: null,
        group_claim: 'groups',
        role_map: '{}',
        subject_claim: 'sub',
        created_at: at,
        updated_at: at,
      })
      .execute(),
  )
}

/** The identity provider of an organisation, which manages its users. */
export interface Directory {
  readonly token: { readonly id: string; readonly secret: string; readonly url: string }
  send(method: string, path: string, body?: unknown): Promise<Answer>
  /** Adds a user. @returns its id */
  add(userName: string, attributes?: object): Promise<string>
  /** Adds a user, to whom the account of a member is linked as at a sign-in. @returns its id */
  addLinked(member: Member, attributes?: object): Promise<string>
  /** Sets a user to inactive. */
  deactivate(id: string): Promise<Answer>
}

/** Connects an organisation, whose admin gets a passkey, and creates a token over HTTP. */
export async function connectDirectory(
  service: TestService,
  organisation: TestOrganisation,
): Promise<Directory> {
  await connectSso(service.operator.db, organisation.username)
  await addPasskeyOf(service, organisation.admin.self.ownerId)
  return openDirectory(service, organisation)
}

/** Creates a token of an organisation that is connected to an identity provider, over HTTP. */
export async function openDirectory(
  service: TestService,
  organisation: TestOrganisation,
): Promise<Directory> {
  const { db } = service.operator
  const created = await organisation.admin.post('/api/account/scim-tokens')
  assert.equal(created.status, 201, created.text)
  const token = jsonOf<Directory['token']>(created)
  const send: Directory['send'] = (method, path, body) =>
    askScim(service, token.secret, method, path, body)
  const add: Directory['add'] = async (userName, attributes = {}) => {
    const added = await send('POST', '/Users', { userName, ...attributes })
    assert.equal(added.status, 201, added.text)
    return scimOf<{ id: string }>(added).id
  }
  return {
    token,
    send,
    add,
    async addLinked(member, attributes) {
      const id = await add(`user-${member.self.ownerId}@example.com`, attributes)
      assert.ok(await db.write((tx) => linkScimUser(tx, id, member.self.ownerId)))
      return id
    },
    deactivate: (id) =>
      send('PATCH', `/Users/${id}`, {
        Operations: [{ op: 'replace', path: 'active', value: false }],
      }),
  }
}

/** Sends a request of SCIM with any bearer token. */
export function askScim(
  service: TestService,
  token: string,
  method: string,
  path: string,
  body?: unknown,
): Promise<Answer> {
  return ask(service, `/scim/v2${path}`, {
    method,
    headers: {
      authorization: `Bearer ${token}`,
      ...(body !== undefined && { 'content-type': SCIM_TYPE }),
    },
    ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
  })
}

/** Adds a passkey without a ceremony: it makes an admin an emergency admin. */
export async function addPasskeyOf(
  { operator }: Pick<TestService, 'operator'>,
  ownerId: number,
): Promise<void> {
  await operator.db.write((tx) =>
    insertPasskey(tx, {
      credential_id: randomBytes(16).toString('base64url'),
      owner_id: ownerId,
      public_key: randomBytes(32),
      counter: 0,
      transports: '[]',
      backed_up: 1,
      name: 'A test',
      created_at: Date.now(),
      last_used_at: null,
    }),
  )
}

/** Parses the body as JSON and asserts that it is SCIM's. */
export function scimOf<T = Record<string, unknown>>({ headers, text }: Answer): T {
  assert.equal(headers.get('content-type'), `${SCIM_TYPE}; charset=utf-8`)
  assert.equal(headers.get('cache-control'), 'no-store')
  return JSON.parse(text) as T
}

/** Asserts that a response is an error in both formats. @param scimType undefined: it has none */
export function assertScimRefused(answer: Answer, code: ErrorCode, scimType?: string): void {
  const body = scimOf<{ scimType?: string; error: { code: string; message: string } }>(answer)
  const status = ERROR_STATUS[code]
  assert.equal(answer.status, status, answer.text)
  const { error } = body
  assert.deepEqual(body, {
    schemas: [SCIM_URNS.error],
    status: String(status),
    detail: error.message,
    ...(scimType !== undefined && { scimType }),
    error,
  })
  assert.equal(error.code, code)
}
