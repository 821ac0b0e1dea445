import './address.ts'
import { CSPProvider } from '@base-ui/react/csp-provider'
import { QueryClientProvider } from '@tanstack/react-query'
import { RouterProvider } from '@tanstack/react-router'
import { StrictMode } from 'react'
import { createRoot } from 'react-dom/client'
import { queries } from './api.ts'
import { applyPreferences } from './preferences.ts'
import { router } from './router.tsx'
import './style/index.css'
import { TextProvider } from './text.tsx'

applyPreferences()
const root = document.getElementById('root')
if (!root) throw new Error('the page has no root')
createRoot(root).render(
  <StrictMode>
    {/* The policy of the page allows no inline styles. */}
    <CSPProvider disableStyleElements>
      <QueryClientProvider client={queries}>
        <TextProvider>
          <RouterProvider router={router} />
        </TextProvider>
      </QueryClientProvider>
    </CSPProvider>
  </StrictMode>,
)
