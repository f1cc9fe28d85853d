/** A placeholder. Set its size by `className`. */
export function Skeleton({ className = '' }: { readonly className?: string }) {
  return <div aria-hidden="true" className={`animate-pulse rounded-lg bg-sunken ${className}`} />
}

/** Announces to screen readers that something is loading. */
export function Loading({ what }: { readonly what: string }) {
  return (
    <p role="status" className="sr-only">
      Loading {what} …
    </p>
  )
}
