/** Modules that only the build knows. */

/// <reference types="vite/client" />
