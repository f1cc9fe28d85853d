import type { SessionState } from '@countersign/protocol'

/** @returns why passkeys cannot be used here, as a sentence; null if they can */
export function passkeysUnavailableReason(service: SessionState['service']): string | null {
  if (!('PublicKeyCredential' in globalThis)) return 'This browser does not support passkeys.'
  if (service.passkeys) return null
  return 'Browsers do not allow passkeys at this address. They need a host name, and HTTPS unless it is localhost.'
}
