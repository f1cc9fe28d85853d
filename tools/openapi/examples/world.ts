import { namingFor } from '@countersign/protocol'
import { Authenticator } from '../../../test/support/authenticator.ts'
import { keyOfSeed, type TestKey } from '../../../test/support/key.ts'
import type { TestService } from '../../../test/support/service.ts'
import { EXAMPLE_URL, type ExampleService } from './example-service.ts'
import type { Recorder } from './recorder.ts'

/** An agent of the examples. */
export interface ExampleAgent {
  readonly did: string
  readonly key: TestKey
}

/** Ada, her agents, and those who look at them. */
export interface World {
  readonly service: ExampleService
  /** Ada's browser. */
  readonly ada: Recorder
  readonly authenticator: Authenticator
  readonly ownerId: number
  /** Without a session: agents, relying parties. */
  readonly anyone: Recorder
}

/** Makes Ed25519 keys in a fixed order, since signatures by P-256 are random. */
export function fixedAuthenticator(): Authenticator {
  let made = 0
  return new Authenticator(EXAMPLE_URL, () => {
    made += 1
    return keyOfSeed(Buffer.alloc(32, made)).privateKey
  })
}

export const agentPath = ({ did }: ExampleAgent): string => `/api/v1/agent/${did}`
export const ownAgentPath = ({ did }: ExampleAgent): string => `/api/account/agents/${did}`

/** The service as it is known to those who sign for it. */
export const EXAMPLE_SERVICE = {
  url: EXAMPLE_URL,
  settings: { naming: namingFor('svc', 'ServiceID') },
} as Pick<TestService, 'url' | 'settings'>

/** The public key, 32 bytes. */
export const bytesOf = (key: TestKey): Uint8Array =>
  new Uint8Array(Buffer.from(key.publicKey, 'base64'))
