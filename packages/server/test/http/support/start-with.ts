import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import type { TestContext } from 'node:test'
import type { FastifyInstance } from 'fastify'
import { startTestService, type TestService } from '../../../../../test/support/service.ts'

/** Starts a service, and changes its HTTP side before any route is registered. */
export async function startWith(
  t: TestContext,
  env: Record<string, string>,
  change: (app: FastifyInstance) => void,
): Promise<TestService> {
  const onApp = (message: unknown) => change((message as { fastify: FastifyInstance }).fastify)
  subscribe('fastify.initialization', onApp)
  try {
    return await startTestService(t, env)
  } finally {
    unsubscribe('fastify.initialization', onApp)
  }
}
