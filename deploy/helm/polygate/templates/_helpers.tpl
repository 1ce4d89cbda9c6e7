{{- define "polygate.fullname" -}}
{{- if .Values.fullnameOverride -}}{{ .Values.fullnameOverride | trunc 52 | trimSuffix "-" }}
{{- else -}}
{{- $name := default .Chart.Name .Values.nameOverride -}}
{{- if contains $name .Release.Name -}}{{ .Release.Name | trunc 52 | trimSuffix "-" }}{{- else -}}{{ printf "%s-%s" .Release.Name $name | trunc 52 | trimSuffix "-" }}{{- end -}}
{{- end -}}
{{- end -}}

{{- define "polygate.selector" -}}
app.kubernetes.io/name: {{ default .Chart.Name .Values.nameOverride | quote }}
app.kubernetes.io/instance: {{ .Release.Name | quote }}
app.kubernetes.io/component: gateway
{{- end -}}

{{- define "polygate.labels" -}}
{{ include "polygate.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service | quote }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | quote }}
{{- end -}}

{{- define "polygate.image" -}}
{{- with .Values.image -}}
{{- if .digest -}}{{ .repository }}@{{ .digest }}{{- else -}}{{ .repository }}:{{ default $.Chart.AppVersion .tag }}{{- end -}}
{{- end -}}
{{- end -}}

{{- define "polygate.replicas" -}}
{{- $shared := not (empty .Values.database.existingSecret) -}}
{{- $replicas := int (default (ternary 3 1 $shared) .Values.replicas) -}}
{{- if and (not $shared) (or (gt $replicas 1) .Values.autoscaling.enabled) -}}
{{- fail "Several replicas need a PostgreSQL database: set database.existingSecret, or replicas to 1." -}}
{{- end -}}
{{- if and $shared (empty .Values.encryption.existingSecret) -}}
{{- fail "encryption.existingSecret is required with PostgreSQL: all replicas need the same key." -}}
{{- end -}}
{{- if and $shared (empty .Values.admin.existingSecret) -}}
{{- fail "admin.existingSecret is required with PostgreSQL." -}}
{{- end -}}
{{- $replicas -}}
{{- end -}}

{{/* The configuration: what the chart knows, overridden by the values. */}}
{{- define "polygate.config" -}}
{{- $own := dict "server" (dict "host" "0.0.0.0" "port" 8080) -}}
{{- if .Values.database.existingSecret -}}{{- $_ := set $own "data" "${POLYGATE_DATABASE}" -}}{{- end -}}
{{- if .Values.encryption.existingSecret -}}{{- $_ := set $own "encryption" (dict "key" "${POLYGATE_ENCRYPTION_KEY}") -}}{{- end -}}
{{- if .Values.admin.existingSecret -}}
{{- $_ := set $own "admin" (dict "token" "${POLYGATE_ADMIN_TOKEN}" "host" "0.0.0.0" "port" (int .Values.admin.port)) -}}
{{- end -}}
{{- mergeOverwrite $own (deepCopy .Values.config) | toYaml -}}
{{- end -}}

{{- define "polygate.env" -}}
{{- with .Values.database }}{{- if .existingSecret }}
- name: POLYGATE_DATABASE
  valueFrom: { secretKeyRef: { name: {{ .existingSecret | quote }}, key: {{ .key | quote }} } }
{{- end }}{{- end }}
{{- with .Values.encryption }}{{- if .existingSecret }}
- name: POLYGATE_ENCRYPTION_KEY
  valueFrom: { secretKeyRef: { name: {{ .existingSecret | quote }}, key: {{ .key | quote }} } }
{{- end }}{{- end }}
{{- with .Values.admin }}{{- if .existingSecret }}
- name: POLYGATE_ADMIN_TOKEN
  valueFrom: { secretKeyRef: { name: {{ .existingSecret | quote }}, key: {{ .key | quote }} } }
{{- end }}{{- end }}
{{- with .Values.extraEnv }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{- define "polygate.podSecurity" -}}
runAsNonRoot: true
runAsUser: 65532
runAsGroup: 65532
fsGroup: 65532
fsGroupChangePolicy: OnRootMismatch
seccompProfile: { type: RuntimeDefault }
{{- end -}}

{{- define "polygate.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities: { drop: [ALL] }
{{- end -}}
