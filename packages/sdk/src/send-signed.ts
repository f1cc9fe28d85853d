import type { Static, TSchema } from 'typebox'
import { isTransient } from './http/retry.ts'
import type { ServiceClient } from './http/service-client.ts'
import { namingOf } from './naming.ts'
import type { CallOptions } from './options.ts'
import { clientOf } from './registry.ts'
import { type Shape, wireReader } from './responses/read-schema.ts'
import type { SignedCalls } from './service-signer.ts'

interface Call<S extends TSchema> {
  /** Below that of the agent. */
  readonly path: string
  readonly body: object
  readonly schema: S
  readonly alsoOk?: readonly number[]
}

/** Sends a request to the service that the agent itself has signed. */
export async function sendSigned<S extends TSchema>(
  { registry, did, sign }: SignedCalls,
  { path, schema, ...call }: Call<S>,
  { signal }: Pick<CallOptions, 'signal'>,
): Promise<Shape<Static<S>>> {
  const request = { path: `/api/v1/agent/${await did()}/${path}`, ...call, sign }
  const read = wireReader(schema, namingOf(registry.naming))
  const client = clientOf(registry) as ServiceClient
  return client.send(request, read, isTransient, signal)
}
