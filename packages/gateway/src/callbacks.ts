import type { Outcome } from './decision/decide.ts'
import type { DecidedRequest, FeedFault, GatewayOptions } from './options.ts'
import { pathOf } from './policy/route-matcher.ts'
import { addressOf } from './request/address-key.ts'
import type { GatewayRequest } from './request/gateway-request.ts'

/** Calls `onDecision`. Its errors are ignored: a failing log must not refuse requests. */
export function reportDecision(
  { onDecision }: GatewayOptions,
  { decision }: Outcome,
  request: GatewayRequest,
): void {
  if (onDecision === undefined) return
  try {
    const { method, target } = request
    const decided: DecidedRequest = { method, path: pathOf(target), address: addressOf(request) }
    const returned = onDecision(decision, decided)
    if (returned instanceof Promise) returned.catch(() => undefined)
  } catch {}
}

/** Calls `onFeedFault`. Its errors are ignored, also if it is async. */
export function reportFault(
  { onFeedFault }: GatewayOptions,
  fault: FeedFault,
  issuer: string,
): void {
  void (async () => onFeedFault?.(fault, issuer))().catch(() => undefined)
}
