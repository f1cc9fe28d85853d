import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import type { SsoConnectionResult } from '@countersign/protocol'
import type { JWTPayload } from 'jose'
import { type Answer, jsonOf } from '../../../../../../test/support/answer.ts'
import {
  createOrganisation,
  type TestOrganisation,
} from '../../../../../../test/support/organisations.ts'
import {
  type Cleanup,
  startTestService,
  type TestService,
} from '../../../../../../test/support/service.ts'
import type { SignedInOwner } from '../../../../../../test/support/signed-in.ts'
import { Visitor } from '../../../../../../test/support/visitor.ts'
import {
  CLIENT_ID,
  CLIENT_SECRET,
  type Misbehaviour,
  startOidcServer,
} from '../../identity/oidc-server.ts'

type OidcServer = Awaited<ReturnType<typeof startOidcServer>>

/** An identity provider whose next ID token has the claims of `person`. */
export interface TestIdp extends OidcServer {
  /** Replaces claims of the next ID tokens; undefined removes one. */
  person: Record<string, unknown>
}

export async function startIdp(t: Cleanup, wrong: Misbehaviour = {}): Promise<TestIdp> {
  const idp = await startOidcServer(t, {
    ...wrong,
    claims: (claims) => {
      const asserted = { ...claims, ...world.person } as JWTPayload
      return wrong.claims?.(asserted) ?? asserted
    },
  })
  const world = Object.assign(idp, { person: {} as Record<string, unknown> })
  return world
}

export interface SsoWorld {
  readonly service: TestService
  readonly acme: TestOrganisation
  readonly idp: TestIdp
}

/** The hosts of identity providers, for SSO_PRIVATE_HOSTS. */
export function hostsOf(...idps: readonly { readonly url: string }[]): string {
  return idps.map(({ url }) => new URL(url).host).join(',')
}

/** Gives a person a passkey, without a ceremony, so that they can be an emergency admin. */
export async function givePasskey({ operator }: TestService, ownerId: number): Promise<void> {
  await operator.db.write(async (tx) => {
    await tx.db
      .insertInto('passkeys')
      .values({
        credential_id: randomBytes(12).toString('base64url'),
        owner_id: ownerId,
        public_key: randomBytes(32),
        counter: 0,
        transports: '[]',
        backed_up: 0,
        name: 'a passkey',
        created_at: 0,
        last_used_at: null,
      } as never)
      .execute()
  })
}

/** The body of `PUT /api/account/sso` for an identity provider of a test. */
export function connectionTo(issuer: string, changes: object = {}) {
  return {
    issuer,
    clientId: CLIENT_ID,
    clientSecret: CLIENT_SECRET,
    groupClaim: 'groups',
    roleMap: { staff: 'viewer', duty: 'responder', leads: 'manager' },
    subjectClaim: 'sub',
    ...changes,
  }
}

/** Connects an organisation to an identity provider. */
export async function connect(
  { admin }: TestOrganisation,
  issuer: string,
  changes: object = {},
): Promise<SsoConnectionResult> {
  const answer = await admin.send('PUT', '/api/account/sso', connectionTo(issuer, changes))
  assert.equal(answer.status, 200, answer.text)
  return jsonOf(answer)
}

/** A service with an organisation that has an emergency admin and is connected to an identity provider. */
export async function startSsoWorld(
  t: Cleanup,
  { wrong, now, env }: { wrong?: Misbehaviour; now?: () => number; env?: object } = {},
): Promise<SsoWorld> {
  const idp = await startIdp(t, wrong)
  const SSO_PRIVATE_HOSTS = hostsOf(idp)
  const service = await startTestService(t, { SSO_PRIVATE_HOSTS, ...env }, now)
  const acme = await createOrganisation(service)
  await givePasskey(service, acme.admin.ownerId)
  await connect(acme, idp.url)
  return { service, acme, idp }
}

/** Begins a sign-in at an organisation's identity provider. @returns where the browser goes */
export async function beginSignIn(visitor: Visitor, name = 'acme'): Promise<string> {
  const begun = await visitor.post(`/sign-in/organisation?name=${name}`)
  assert.equal(begun.status, 200, begun.text)
  return jsonOf<{ redirect: string }>(begun).redirect
}

/** Comes back from the identity provider. @returns the page to which the service redirects */
export async function comeBack(visitor: Visitor, callback: URL): Promise<string> {
  const answer = await visitor.get(`${callback.pathname}${callback.search}`)
  assert.equal(answer.status, 303, answer.text)
  return answer.headers.get('location') ?? ''
}

/** Signs a new browser in, as the person whom the identity provider asserts. */
export async function signInBySso(
  { service, idp }: Pick<SsoWorld, 'service' | 'idp'>,
  person: Record<string, unknown> = {},
  visitor = new Visitor(service),
  organisation = 'acme',
): Promise<{ readonly visitor: Visitor; readonly page: string }> {
  idp.person = person
  const callback = idp.authorize(await beginSignIn(visitor, organisation))
  return { visitor, page: await comeBack(visitor, callback) }
}

/** The code of a failure in the query of a page. */
export function codeIn(page: string): string | null {
  return new URL(page, 'http://service').searchParams.get('code')
}

/** A member as `GET /api/account/members` shows them, by display name. */
export async function memberNamed({ admin }: TestOrganisation, name: string) {
  const answer: Answer = await admin.get('/api/account/members')
  const { members } = jsonOf<{ members: readonly Record<string, unknown>[] }>(answer)
  return members.find((member) => member.displayName === name)
}

/** Links the identity that the identity provider asserts to the own account of a member. @returns the page of the redirect */
export async function linkToSso(
  { service, idp }: Pick<SsoWorld, 'service' | 'idp'>,
  { cookie }: SignedInOwner,
  organisation: string,
  person: Record<string, unknown>,
): Promise<string> {
  const visitor = new Visitor(service)
  const [name = '', value = ''] = cookie.split('=')
  visitor.cookies.set(name, value)
  idp.person = person
  const begun = await visitor.post(`/api/account/sso/link?organisation=${organisation}`)
  assert.equal(begun.status, 200, begun.text)
  return comeBack(visitor, idp.authorize(jsonOf<{ redirect: string }>(begun).redirect))
}
