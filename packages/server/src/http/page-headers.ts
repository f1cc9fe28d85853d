/** Content-Security-Policy sources by directive, such as `connect-src`. */
export type PagePolicy = Readonly<Record<string, readonly string[]>>

/**
 * The security headers of every HTML page: no third-party content, no inline scripts or styles, no framing.
 * @param more additional CSP sources, for scripts of identity providers
 */
export function pageHeaders(
  baseUrl: string,
  more: readonly PagePolicy[] = [],
): Readonly<Record<string, string>> {
  return {
    'content-security-policy': contentSecurityPolicy(more),
    'referrer-policy': 'strict-origin-when-cross-origin',
    'permissions-policy': 'camera=(), microphone=(), geolocation=(), payment=(), usb=()',
    'cross-origin-opener-policy': 'same-origin',
    'cross-origin-resource-policy': 'same-origin',
    ...(baseUrl.startsWith('https:') && {
      // No includeSubDomains: subdomains may be other services.
      'strict-transport-security': 'max-age=31536000',
    }),
  }
}

const DIRECTIVES: PagePolicy = {
  'default-src': ["'none'"],
  'script-src': ["'self'"],
  'style-src': ["'self'"],
  'img-src': ["'self'", 'data:', 'blob:'],
  'font-src': ["'self'"],
  'connect-src': ["'self'"],
  'base-uri': ["'none'"],
  'form-action': ["'self'"],
  'frame-ancestors': ["'none'"],
}

function contentSecurityPolicy(more: readonly PagePolicy[]): string {
  return Object.entries(DIRECTIVES)
    .map(([name, sources]) => {
      const all = new Set([...sources, ...more.flatMap((each) => each[name] ?? [])])
      return `${name} ${[...all].join(' ')}`
    })
    .join('; ')
}
