import { ERROR_STATUS } from '@countersign/protocol'
import type { FastifyRequest } from 'fastify'
import { refusalOf } from '../core/errors.ts'

/**
 * What a page of the dashboard says of a way to a provider that ended badly.
 * @param provider its id
 * @returns the query of that page
 */
export function failureOf(
  error: unknown,
  request: FastifyRequest,
  provider: string,
): Record<string, string> {
  const { code, message, cause } = refusalOf(error)
  // What is refused here can be an attack: the reason is for the host, and is words of ours alone.
  const level = ERROR_STATUS[code] >= 500 ? 'error' : 'warn'
  request.log[level]({ err: cause, provider, requestId: request.id }, message)
  return { failed: provider, message, request: request.id }
}
