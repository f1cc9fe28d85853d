/** The logo: a tick in two strokes, for a signature and its countersignature. */
export function LogoMark({ className = 'size-7' }: { readonly className?: string }) {
  return (
    <svg viewBox="0 0 32 32" fill="none" aria-hidden="true" className={className}>
      <circle cx="16" cy="16" r="14.5" className="stroke-ink" strokeWidth="1.6" />
      <path d="m8.6 16.4 5 5.2" className="stroke-ink" strokeWidth="3.4" strokeLinecap="round" />
      <path
        d="M13.6 21.6 24 10.6"
        className="stroke-accent"
        strokeWidth="3.4"
        strokeLinecap="round"
      />
    </svg>
  )
}

/** The logo and the deployment's name. */
export function Wordmark({ name }: { readonly name: string }) {
  return (
    <span className="inline-flex min-w-0 items-center gap-2.5">
      <LogoMark className="size-7 shrink-0" />
      <span className="truncate text-lg font-semibold tracking-tight text-ink">{name}</span>
    </span>
  )
}
