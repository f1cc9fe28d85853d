import { sign } from 'node:crypto'
import { type KeyOperationKind, keyThumbprint } from '@countersign/protocol'
import type { Answer } from './answer.ts'
import { post } from './ask.ts'
import type { TestKey } from './key.ts'
import type { TestService } from './service.ts'

/** What a key operation signs, written out by hand: the tests do not take the bytes from the code that they test. */
export interface Signed {
  readonly first: number
  readonly operation: KeyOperationKind
  readonly version: string
  readonly service: string
  readonly did: string
  readonly sequence: number
  readonly old: TestKey | null
  readonly next: TestKey | null
  readonly issuedAt: number
  readonly token: string | null
}

/** The signature of a key over an operation, base64. */
export function signOperation(key: TestKey, signed: Signed): string {
  const { first, operation, version, service, did, sequence, old, next, issuedAt, token } = signed
  const lines = [`svc-${operation}-${version}`, service, did, sequence, thumb(old), thumb(next)]
  const text = [...lines, issuedAt, ...(token === null ? [] : [token])].join('\n')
  const bytes = Buffer.concat([Buffer.from([first]), Buffer.from(text)])
  return sign(null, bytes, key.privateKey).toString('base64')
}

function thumb(key: TestKey | null): string {
  return key === null ? '-' : keyThumbprint(Buffer.from(key.publicKey, 'base64'))
}

type Url = Pick<TestService, 'url'>

function operation(service: Url, did: string, changed: Partial<Signed>): Signed {
  const issuedAt = Math.floor(Date.now() / 1000)
  const rest = { old: null, next: null, token: null, issuedAt, sequence: 1 }
  return {
    first: 0xff,
    operation: 'rotate',
    version: 'v1',
    service: service.url,
    did,
    ...rest,
    ...changed,
  }
}

/** The body of a rotation to the key with number `sequence`. @param changed what is signed instead of the right values */
export function rotationBody(
  service: Url,
  did: string,
  keys: { readonly old: TestKey; readonly next: TestKey; readonly sequence: number },
  changed: Partial<Signed> = {},
) {
  const signed = operation(service, did, { ...keys, ...changed })
  return {
    newPublicKey: keys.next.publicKey,
    sequence: signed.sequence,
    issuedAt: signed.issuedAt,
    oldSignature: signOperation(keys.old, signed),
    newSignature: signOperation(keys.next, signed),
  }
}

export function recoveryBody(
  service: Url,
  did: string,
  { token, next, sequence }: { token: string; next: TestKey; sequence: number },
  changed: Partial<Signed> = {},
) {
  const asked = { operation: 'recover', token, next, sequence } as const
  const signed = operation(service, did, { ...asked, ...changed })
  return {
    recoveryToken: token,
    publicKey: next.publicKey,
    sequence: signed.sequence,
    issuedAt: signed.issuedAt,
    signature: signOperation(next, signed),
  }
}

export function vetoBody(
  service: Url,
  did: string,
  { old, sequence }: { old: TestKey; sequence: number },
  changed: Partial<Signed> = {},
) {
  return bodyOf('veto', service, did, { old, sequence }, changed)
}

/** The body of a request that a key signs alone. */
function bodyOf(
  kind: 'veto' | 'renounce' | 'compromised' | 'end-delegations',
  service: Url,
  did: string,
  { old, sequence }: { old: TestKey; sequence: number },
  changed: Partial<Signed>,
) {
  const signed = operation(service, did, { operation: kind, old, sequence, ...changed })
  return { sequence, issuedAt: signed.issuedAt, signature: signOperation(old, signed) }
}

export function renounceBody(
  service: Url,
  did: string,
  key: { old: TestKey; sequence: number },
  changed: Partial<Signed> = {},
) {
  return bodyOf('renounce', service, did, key, changed)
}

/** Renounces an agent with its current key. */
export function renounceWith(
  service: TestService,
  did: string,
  key: { old: TestKey; sequence: number },
  changed: Partial<Signed> = {},
): Promise<Answer> {
  const body = renounceBody(service, did, key, changed)
  return post(service, `/api/v1/agent/${did}/renounce`, body)
}

export function reportBody(
  service: Url,
  did: string,
  key: { old: TestKey; sequence: number },
  changed: Partial<Signed> = {},
) {
  return bodyOf('compromised', service, did, key, changed)
}

/** Reports a key that an agent has or had, with that key. */
export function reportWith(
  service: TestService,
  did: string,
  key: { old: TestKey; sequence: number },
  changed: Partial<Signed> = {},
): Promise<Answer> {
  const body = reportBody(service, did, key, changed)
  return post(service, `/api/v1/agent/${did}/keys/compromised`, body)
}

export function endDelegationsBody(
  service: Url,
  did: string,
  key: { old: TestKey; sequence: number },
  changed: Partial<Signed> = {},
) {
  return bodyOf('end-delegations', service, did, key, changed)
}

/** Ends the delegations of an agent with its current key. */
export function endDelegationsWith(
  service: TestService,
  did: string,
  key: { old: TestKey; sequence: number },
  changed: Partial<Signed> = {},
): Promise<Answer> {
  const body = endDelegationsBody(service, did, key, changed)
  return post(service, `/api/v1/agent/${did}/delegation/end`, body)
}

/** Rotates the key of an agent. */
export function rotateTo(
  service: TestService,
  did: string,
  keys: { readonly old: TestKey; readonly next: TestKey; readonly sequence: number },
  changed: Partial<Signed> = {},
): Promise<Answer> {
  return post(service, `/api/v1/agent/${did}/keys`, rotationBody(service, did, keys, changed))
}
