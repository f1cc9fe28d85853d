import type { Role } from '@countersign/protocol'

export const ROLE_NAMES: Readonly<Record<Role, string>> = {
  viewer: 'Viewer',
  responder: 'Responder',
  manager: 'Manager',
  admin: 'Admin',
}

/** What each role allows, beyond the roles before it. */
export const ROLE_TEXTS: Readonly<Record<Role, string>> = {
  viewer: 'Sees agents, members and activity, and changes nothing.',
  responder: 'Also suspends, reactivates and revokes agents, and reports stolen keys.',
  manager: 'Also claims and changes agents, and manages channels, API keys and webhooks.',
  admin: 'Also manages members, the identity and the settings of the organisation.',
}
