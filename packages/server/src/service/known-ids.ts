import { CodedError } from '@countersign/protocol'
import type { FastifyRequest } from 'fastify'

/**
 * A hook: an id with U+0000 in it names nothing here, and PostgreSQL refuses to look for one. References to agents are
 * not ids: their form is checked where they are read.
 */
export function refuseImpossibleIds(
  { params }: FastifyRequest,
  _reply: unknown,
  done: (error?: Error) => void,
): void {
  const { agent: _reference, ...ids } = params as Record<string, string>
  const impossible = Object.values(ids).some((id) => id.includes('\0'))
  done(impossible ? new CodedError('NOT_FOUND', 'There is nothing by this name.') : undefined)
}
