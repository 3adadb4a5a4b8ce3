"""First tables: projects, fleet, work, measurements, verdicts, and what the service keeps for itself.

Revision: 0001
Follows: 
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = '0001'
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:

    op.create_table('audit_log',
    sa.Column('id', sa.BigInteger(), sa.Identity(always=False), nullable=False),
    sa.Column('actor', sa.Text(), nullable=False),
    sa.Column('action', sa.Text(), nullable=False),
    sa.Column('object', sa.Text(), nullable=False),
    sa.Column('detail', postgresql.JSONB(astext_type=sa.Text()), nullable=False),
    sa.Column('address', sa.Text(), server_default='', nullable=False),
    sa.Column('created_at', sa.DateTime(timezone=True), server_default=sa.text('clock_timestamp()'), nullable=False),
    sa.PrimaryKeyConstraint('id', name=op.f('pk_audit_log'))
    )
    op.create_table('environment',
    sa.Column('id', sa.BigInteger(), sa.Identity(always=False), nullable=False),
    sa.Column('digest', sa.Text(), nullable=False),
    sa.Column('machine_hash', sa.Text(), nullable=False),
    sa.Column('machine', postgresql.JSONB(astext_type=sa.Text()), nullable=False),
    sa.Column('software', postgresql.JSONB(astext_type=sa.Text()), nullable=False),
    sa.Column('created_at', sa.DateTime(timezone=True), server_default=sa.text('clock_timestamp()'), nullable=False),
    sa.PrimaryKeyConstraint('id', name=op.f('pk_environment')),
    sa.UniqueConstraint('digest', name=op.f('uq_environment_digest'))
    )
    op.create_index(op.f('ix_environment_machine_hash'), 'environment', ['machine_hash'], unique=False)
    op.create_table('outbox',
    sa.Column('id', sa.BigInteger(), sa.Identity(always=False), nullable=False),
    sa.Column('topic', sa.Text(), nullable=False),
    sa.Column('key', sa.Text(), nullable=False),
    sa.Column('payload', postgresql.JSONB(astext_type=sa.Text()), nullable=False),
    sa.Column('created_at', sa.DateTime(timezone=True), server_default=sa.text('clock_timestamp()'), nullable=False),
    sa.Column('available_at', sa.DateTime(timezone=True), server_default=sa.text('clock_timestamp()'), nullable=False),
    sa.Column('attempts', sa.BigInteger(), server_default='0', nullable=False),
    sa.Column('sent_at', sa.DateTime(timezone=True), nullable=True),
    sa.Column('error', sa.Text(), nullable=True),
    sa.PrimaryKeyConstraint('id', name=op.f('pk_outbox')),
    sa.UniqueConstraint('key', name=op.f('uq_outbox_key'))
    )
    op.create_index('ix_outbox_unsent', 'outbox', ['available_at'], unique=False, postgresql_where=sa.text('sent_at is null'))
    op.create_table('project',
    sa.Column('id', sa.BigInteger(), sa.Identity(always=False), nullable=False),
    sa.Column('name', sa.Text(), nullable=False),
    sa.Column('branch', sa.Text(), server_default='main', nullable=False),
    sa.Column('created_at', sa.DateTime(timezone=True), server_default=sa.text('clock_timestamp()'), nullable=False),
    sa.PrimaryKeyConstraint('id', name=op.f('pk_project')),
    sa.UniqueConstraint('name', name=op.f('uq_project_name'))
    )
    op.create_table('benchmark_case',
    sa.Column('id', sa.BigInteger(), sa.Identity(always=False), nullable=False),
    sa.Column('project_id', sa.BigInteger(), nullable=False),
    sa.Column('benchmark', sa.Text(), nullable=False),
    sa.Column('params', postgresql.JSONB(astext_type=sa.Text()), nullable=False),
    sa.Column('params_key', sa.Text(), nullable=False),
    sa.ForeignKeyConstraint(['project_id'], ['project.id'], name=op.f('fk_benchmark_case_project_id')),
    sa.PrimaryKeyConstraint('id', name=op.f('pk_benchmark_case')),
    sa.UniqueConstraint('project_id', 'benchmark', 'params_key', name=op.f('uq_benchmark_case_project_id_benchmark_params_key'))
    )
    op.create_table('commit',
    sa.Column('id', sa.BigInteger(), sa.Identity(always=False), nullable=False),
    sa.Column('project_id', sa.BigInteger(), nullable=False),
    sa.Column('sha', sa.Text(), nullable=False),
    sa.Column('parent_sha', sa.Text(), nullable=True),
    sa.Column('position', sa.BigInteger(), nullable=True),
    sa.Column('branch', sa.Text(), nullable=True),
    sa.Column('subject', sa.Text(), server_default='', nullable=False),
    sa.Column('author', sa.Text(), server_default='', nullable=False),
    sa.Column('authored_at', sa.DateTime(timezone=True), nullable=True),
    sa.Column('created_at', sa.DateTime(timezone=True), server_default=sa.text('clock_timestamp()'), nullable=False),
    sa.ForeignKeyConstraint(['project_id'], ['project.id'], name=op.f('fk_commit_project_id')),
    sa.PrimaryKeyConstraint('id', name=op.f('pk_commit')),
    sa.UniqueConstraint('project_id', 'sha', name=op.f('uq_commit_project_id_sha'))
    )
    op.create_table('request',
    sa.Column('id', sa.BigInteger(), sa.Identity(always=False), nullable=False),
    sa.Column('project_id', sa.BigInteger(), nullable=False),
    sa.Column('key', sa.Text(), nullable=False),
    sa.Column('trigger', sa.Text(), nullable=False),
    sa.Column('asked_by', sa.Text(), server_default='', nullable=False),
    sa.Column('created_at', sa.DateTime(timezone=True), server_default=sa.text('clock_timestamp()'), nullable=False),
    sa.ForeignKeyConstraint(['project_id'], ['project.id'], name=op.f('fk_request_project_id')),
    sa.PrimaryKeyConstraint('id', name=op.f('pk_request')),
    sa.UniqueConstraint('key', name=op.f('uq_request_key'))
    )
    op.create_table('token',
    sa.Column('id', sa.BigInteger(), sa.Identity(always=False), nullable=False),
    sa.Column('public_id', sa.Text(), nullable=False),
    sa.Column('secret_sha256', sa.Text(), nullable=False),
    sa.Column('name', sa.Text(), nullable=False),
    sa.Column('scopes', postgresql.ARRAY(sa.Text()), nullable=False),
    sa.Column('project_id', sa.BigInteger(), nullable=True),
    sa.Column('expires_at', sa.DateTime(timezone=True), nullable=True),
    sa.Column('last_used_at', sa.DateTime(timezone=True), nullable=True),
    sa.Column('revoked_at', sa.DateTime(timezone=True), nullable=True),
    sa.Column('created_at', sa.DateTime(timezone=True), server_default=sa.text('clock_timestamp()'), nullable=False),
    sa.ForeignKeyConstraint(['project_id'], ['project.id'], name=op.f('fk_token_project_id')),
    sa.PrimaryKeyConstraint('id', name=op.f('pk_token')),
    sa.UniqueConstraint('public_id', name=op.f('uq_token_public_id'))
    )
    op.create_table('browser_session',
    sa.Column('cookie_sha256', sa.Text(), nullable=False),
    sa.Column('token_id', sa.BigInteger(), nullable=False),
    sa.Column('expires_at', sa.DateTime(timezone=True), nullable=False),
    sa.Column('created_at', sa.DateTime(timezone=True), server_default=sa.text('clock_timestamp()'), nullable=False),
    sa.ForeignKeyConstraint(['token_id'], ['token.id'], name=op.f('fk_browser_session_token_id')),
    sa.PrimaryKeyConstraint('cookie_sha256', name=op.f('pk_browser_session'))
    )
    op.create_table('check',
    sa.Column('id', sa.BigInteger(), sa.Identity(always=False), nullable=False),
    sa.Column('project_id', sa.BigInteger(), nullable=False),
    sa.Column('request_id', sa.BigInteger(), nullable=False),
    sa.Column('base_commit_id', sa.BigInteger(), nullable=False),
    sa.Column('head_commit_id', sa.BigInteger(), nullable=False),
    sa.Column('settings', postgresql.JSONB(astext_type=sa.Text()), nullable=False),
    sa.Column('alpha', sa.DOUBLE_PRECISION(), nullable=False),
    sa.Column('state', sa.Text(), server_default='queued', nullable=False),
    sa.Column('conclusion', sa.Text(), nullable=True),
    sa.Column('title', sa.Text(), nullable=True),
    sa.Column('reproduce', sa.Text(), server_default='', nullable=False),
    sa.Column('created_at', sa.DateTime(timezone=True), server_default=sa.text('clock_timestamp()'), nullable=False),
    sa.Column('concluded_at', sa.DateTime(timezone=True), nullable=True),
    sa.CheckConstraint("state in ('queued', 'running', 'complete')", name=op.f('ck_check_state')),
    sa.ForeignKeyConstraint(['base_commit_id'], ['commit.id'], name=op.f('fk_check_base_commit_id')),
    sa.ForeignKeyConstraint(['head_commit_id'], ['commit.id'], name=op.f('fk_check_head_commit_id')),
    sa.ForeignKeyConstraint(['project_id'], ['project.id'], name=op.f('fk_check_project_id')),
    sa.ForeignKeyConstraint(['request_id'], ['request.id'], name=op.f('fk_check_request_id')),
    sa.PrimaryKeyConstraint('id', name=op.f('pk_check')),
    sa.UniqueConstraint('request_id', name=op.f('uq_check_request_id'))
    )
    op.create_index(op.f('ix_check_project_id'), 'check', ['project_id'], unique=False)
    op.create_table('job',
    sa.Column('id', sa.BigInteger(), sa.Identity(always=False), nullable=False),
    sa.Column('project_id', sa.BigInteger(), nullable=False),
    sa.Column('key', sa.Text(), nullable=False),
    sa.Column('suite', sa.Text(), nullable=False),
    sa.Column('device_class', sa.Text(), nullable=False),
    sa.Column('devices_needed', sa.BigInteger(), server_default='1', nullable=False),
    sa.Column('base_commit_id', sa.BigInteger(), nullable=True),
    sa.Column('head_commit_id', sa.BigInteger(), nullable=False),
    sa.Column('spec', postgresql.JSONB(astext_type=sa.Text()), nullable=False),
    sa.Column('policy', postgresql.JSONB(astext_type=sa.Text()), nullable=False),
    sa.Column('budget_s', sa.DOUBLE_PRECISION(), nullable=False),
    sa.Column('max_pairs', sa.BigInteger(), nullable=False),
    sa.Column('band', sa.BigInteger(), server_default='0', nullable=False),
    sa.Column('state', sa.Text(), server_default='queued', nullable=False),
    sa.Column('reason', sa.Text(), nullable=True),
    sa.Column('message', sa.Text(), nullable=True),
    sa.Column('log_tail', sa.Text(), nullable=True),
    sa.Column('attempt', sa.BigInteger(), server_default='0', nullable=False),
    sa.Column('max_attempts', sa.BigInteger(), server_default='3', nullable=False),
    sa.Column('not_before', sa.DateTime(timezone=True), server_default=sa.text('clock_timestamp()'), nullable=False),
    sa.Column('deadline_at', sa.DateTime(timezone=True), nullable=True),
    sa.Column('lease_id', sa.Text(), nullable=True),
    sa.Column('lease_until', sa.DateTime(timezone=True), nullable=True),
    sa.Column('attempt_until', sa.DateTime(timezone=True), nullable=True),
    sa.Column('cancel_requested_at', sa.DateTime(timezone=True), nullable=True),
    sa.Column('created_at', sa.DateTime(timezone=True), server_default=sa.text('clock_timestamp()'), nullable=False),
    sa.Column('finished_at', sa.DateTime(timezone=True), nullable=True),
    sa.CheckConstraint("state in ('queued', 'leased', 'running', 'succeeded', 'failed', 'cancelled', 'superseded', 'expired', 'no_capacity')", name=op.f('ck_job_state')),
    sa.ForeignKeyConstraint(['base_commit_id'], ['commit.id'], name=op.f('fk_job_base_commit_id')),
    sa.ForeignKeyConstraint(['head_commit_id'], ['commit.id'], name=op.f('fk_job_head_commit_id')),
    sa.ForeignKeyConstraint(['project_id'], ['project.id'], name=op.f('fk_job_project_id')),
    sa.PrimaryKeyConstraint('id', name=op.f('pk_job')),
    sa.UniqueConstraint('key', name=op.f('uq_job_key'))
    )
    op.create_index('ix_job_claim', 'job', ['device_class', 'band', 'id'], unique=False, postgresql_where=sa.text("state = 'queued'"))
    op.create_index('ix_job_lease_id', 'job', ['lease_id'], unique=False)
    op.create_index('ix_job_lease_until', 'job', ['lease_until'], unique=False, postgresql_where=sa.text("state in ('leased', 'running')"))
    op.create_table('series',
    sa.Column('id', sa.BigInteger(), sa.Identity(always=False), nullable=False),
    sa.Column('project_id', sa.BigInteger(), nullable=False),
    sa.Column('case_id', sa.BigInteger(), nullable=False),
    sa.Column('metric', sa.Text(), nullable=False),
    sa.Column('unit', sa.Text(), nullable=False),
    sa.Column('better', sa.Text(), nullable=False),
    sa.Column('device_class', sa.Text(), nullable=False),
    sa.Column('version', sa.Text(), server_default='', nullable=False),
    sa.Column('created_at', sa.DateTime(timezone=True), server_default=sa.text('clock_timestamp()'), nullable=False),
    sa.ForeignKeyConstraint(['case_id'], ['benchmark_case.id'], name=op.f('fk_series_case_id')),
    sa.ForeignKeyConstraint(['project_id'], ['project.id'], name=op.f('fk_series_project_id')),
    sa.PrimaryKeyConstraint('id', name=op.f('pk_series')),
    sa.UniqueConstraint('case_id', 'metric', 'device_class', 'version', name=op.f('uq_series_case_id_metric_device_class_version'))
    )
    op.create_index(op.f('ix_series_project_id'), 'series', ['project_id'], unique=False)
    op.create_table('upload',
    sa.Column('id', sa.BigInteger(), sa.Identity(always=False), nullable=False),
    sa.Column('project_id', sa.BigInteger(), nullable=False),
    sa.Column('key', sa.Text(), nullable=False),
    sa.Column('body_digest', sa.Text(), nullable=False),
    sa.Column('environment_id', sa.BigInteger(), nullable=True),
    sa.Column('commit_id', sa.BigInteger(), nullable=False),
    sa.Column('answer', postgresql.JSONB(astext_type=sa.Text()), nullable=False),
    sa.Column('posted_by', sa.Text(), nullable=False),
    sa.Column('created_at', sa.DateTime(timezone=True), server_default=sa.text('clock_timestamp()'), nullable=False),
    sa.ForeignKeyConstraint(['commit_id'], ['commit.id'], name=op.f('fk_upload_commit_id')),
    sa.ForeignKeyConstraint(['environment_id'], ['environment.id'], name=op.f('fk_upload_environment_id')),
    sa.ForeignKeyConstraint(['project_id'], ['project.id'], name=op.f('fk_upload_project_id')),
    sa.PrimaryKeyConstraint('id', name=op.f('pk_upload')),
    sa.UniqueConstraint('project_id', 'key', name=op.f('uq_upload_project_id_key'))
    )
    op.create_table('worker',
    sa.Column('id', sa.BigInteger(), sa.Identity(always=False), nullable=False),
    sa.Column('name', sa.Text(), nullable=False),
    sa.Column('host', sa.Text(), nullable=False),
    sa.Column('instance', sa.Text(), nullable=False),
    sa.Column('agent_version', sa.Text(), server_default='', nullable=False),
    sa.Column('token_id', sa.BigInteger(), nullable=True),
    sa.Column('last_seen_at', sa.DateTime(timezone=True), server_default=sa.text('clock_timestamp()'), nullable=False),
    sa.Column('created_at', sa.DateTime(timezone=True), server_default=sa.text('clock_timestamp()'), nullable=False),
    sa.ForeignKeyConstraint(['token_id'], ['token.id'], name=op.f('fk_worker_token_id')),
    sa.PrimaryKeyConstraint('id', name=op.f('pk_worker')),
    sa.UniqueConstraint('name', name=op.f('uq_worker_name'))
    )
    op.create_table('attempt',
    sa.Column('id', sa.BigInteger(), sa.Identity(always=False), nullable=False),
    sa.Column('job_id', sa.BigInteger(), nullable=False),
    sa.Column('number', sa.BigInteger(), nullable=False),
    sa.Column('lease_id', sa.Text(), nullable=False),
    sa.Column('worker_id', sa.BigInteger(), nullable=False),
    sa.Column('phase', sa.Text(), server_default='', nullable=False),
    sa.Column('detail', sa.Text(), server_default='', nullable=False),
    sa.Column('device_s', sa.DOUBLE_PRECISION(), server_default='0', nullable=False),
    sa.Column('outcome', sa.Text(), nullable=True),
    sa.Column('reason', sa.Text(), nullable=True),
    sa.Column('message', sa.Text(), nullable=True),
    sa.Column('log_tail', sa.Text(), nullable=True),
    sa.Column('started_at', sa.DateTime(timezone=True), server_default=sa.text('clock_timestamp()'), nullable=False),
    sa.Column('ended_at', sa.DateTime(timezone=True), nullable=True),
    sa.ForeignKeyConstraint(['job_id'], ['job.id'], name=op.f('fk_attempt_job_id')),
    sa.ForeignKeyConstraint(['worker_id'], ['worker.id'], name=op.f('fk_attempt_worker_id')),
    sa.PrimaryKeyConstraint('id', name=op.f('pk_attempt')),
    sa.UniqueConstraint('job_id', 'number', name=op.f('uq_attempt_job_id_number')),
    sa.UniqueConstraint('lease_id', name=op.f('uq_attempt_lease_id'))
    )
    op.create_table('device',
    sa.Column('id', sa.BigInteger(), sa.Identity(always=False), nullable=False),
    sa.Column('hardware_id', sa.Text(), nullable=False),
    sa.Column('worker_id', sa.BigInteger(), nullable=False),
    sa.Column('kind', sa.Text(), nullable=False),
    sa.Column('device_class', sa.Text(), nullable=False),
    sa.Column('model', sa.Text(), server_default='', nullable=False),
    sa.Column('health', sa.Text(), server_default='good', nullable=False),
    sa.Column('machine_hash', sa.Text(), server_default='', nullable=False),
    sa.Column('fingerprint', postgresql.JSONB(astext_type=sa.Text()), nullable=False),
    sa.Column('available_at', sa.DateTime(timezone=True), nullable=True),
    sa.Column('created_at', sa.DateTime(timezone=True), server_default=sa.text('clock_timestamp()'), nullable=False),
    sa.CheckConstraint("health in ('good', 'suspect', 'quarantined', 'draining', 'maintenance', 'retired')", name=op.f('ck_device_health')),
    sa.ForeignKeyConstraint(['worker_id'], ['worker.id'], name=op.f('fk_device_worker_id')),
    sa.PrimaryKeyConstraint('id', name=op.f('pk_device')),
    sa.UniqueConstraint('hardware_id', name=op.f('uq_device_hardware_id'))
    )
    op.create_index('ix_device_device_class', 'device', ['device_class'], unique=False)
    op.create_table('report',
    sa.Column('check_id', sa.BigInteger(), nullable=False),
    sa.Column('html_gz', sa.LargeBinary(), nullable=False),
    sa.Column('created_at', sa.DateTime(timezone=True), server_default=sa.text('clock_timestamp()'), nullable=False),
    sa.ForeignKeyConstraint(['check_id'], ['check.id'], name=op.f('fk_report_check_id')),
    sa.PrimaryKeyConstraint('check_id', name=op.f('pk_report'))
    )
    op.create_table('request_job',
    sa.Column('request_id', sa.BigInteger(), nullable=False),
    sa.Column('job_id', sa.BigInteger(), nullable=False),
    sa.ForeignKeyConstraint(['job_id'], ['job.id'], name=op.f('fk_request_job_job_id')),
    sa.ForeignKeyConstraint(['request_id'], ['request.id'], name=op.f('fk_request_job_request_id')),
    sa.PrimaryKeyConstraint('request_id', 'job_id', name=op.f('pk_request_job'))
    )
    op.create_index(op.f('ix_request_job_job_id'), 'request_job', ['job_id'], unique=False)
    op.create_table('lease_device',
    sa.Column('lease_id', sa.Text(), nullable=False),
    sa.Column('device_id', sa.BigInteger(), nullable=False),
    sa.Column('active', sa.Boolean(), server_default=sa.text('true'), nullable=False),
    sa.ForeignKeyConstraint(['device_id'], ['device.id'], name=op.f('fk_lease_device_device_id')),
    sa.PrimaryKeyConstraint('lease_id', 'device_id', name=op.f('pk_lease_device'))
    )
    op.create_index('uq_lease_device_active', 'lease_device', ['device_id'], unique=True, postgresql_where=sa.text('active'))
    op.create_table('run',
    sa.Column('id', sa.BigInteger(), sa.Identity(always=False), nullable=False),
    sa.Column('project_id', sa.BigInteger(), nullable=False),
    sa.Column('job_id', sa.BigInteger(), nullable=False),
    sa.Column('attempt_id', sa.BigInteger(), nullable=False),
    sa.Column('environment_id', sa.BigInteger(), nullable=True),
    sa.Column('order_seed', sa.BigInteger(), nullable=True),
    sa.Column('arms', postgresql.JSONB(astext_type=sa.Text()), nullable=True),
    sa.Column('n_gating', sa.BigInteger(), nullable=True),
    sa.Column('device_s', sa.DOUBLE_PRECISION(), server_default='0', nullable=False),
    sa.Column('prepared_at', sa.DateTime(timezone=True), nullable=True),
    sa.Column('published_at', sa.DateTime(timezone=True), nullable=True),
    sa.Column('created_at', sa.DateTime(timezone=True), server_default=sa.text('clock_timestamp()'), nullable=False),
    sa.ForeignKeyConstraint(['attempt_id'], ['attempt.id'], name=op.f('fk_run_attempt_id')),
    sa.ForeignKeyConstraint(['environment_id'], ['environment.id'], name=op.f('fk_run_environment_id')),
    sa.ForeignKeyConstraint(['job_id'], ['job.id'], name=op.f('fk_run_job_id')),
    sa.ForeignKeyConstraint(['project_id'], ['project.id'], name=op.f('fk_run_project_id')),
    sa.PrimaryKeyConstraint('id', name=op.f('pk_run')),
    sa.UniqueConstraint('attempt_id', name=op.f('uq_run_attempt_id'))
    )
    op.create_index(op.f('ix_run_job_id'), 'run', ['job_id'], unique=False)
    op.create_table('invocation',
    sa.Column('id', sa.BigInteger(), sa.Identity(always=False), nullable=False),
    sa.Column('run_id', sa.BigInteger(), nullable=False),
    sa.Column('key', sa.Text(), nullable=False),
    sa.Column('body_digest', sa.Text(), nullable=False),
    sa.Column('arm', sa.Text(), nullable=False),
    sa.Column('block', sa.BigInteger(), nullable=False),
    sa.Column('pair_index', sa.BigInteger(), nullable=False),
    sa.Column('position', sa.BigInteger(), nullable=False),
    sa.Column('block_complete', sa.Boolean(), nullable=False),
    sa.Column('status', sa.Text(), nullable=False),
    sa.Column('reason', sa.Text(), server_default='', nullable=False),
    sa.Column('log_tail', sa.Text(), server_default='', nullable=False),
    sa.Column('void', sa.Boolean(), server_default=sa.text('false'), nullable=False),
    sa.Column('void_reason', sa.Text(), nullable=True),
    sa.Column('flags', postgresql.ARRAY(sa.Text()), nullable=False),
    sa.Column('device_s', sa.DOUBLE_PRECISION(), nullable=False),
    sa.Column('started_at', sa.DateTime(timezone=True), nullable=False),
    sa.Column('t_start_ns', sa.BigInteger(), nullable=False),
    sa.Column('duration_ns', sa.BigInteger(), nullable=False),
    sa.Column('exit_code', sa.BigInteger(), nullable=True),
    sa.Column('detail', postgresql.JSONB(astext_type=sa.Text()), nullable=False),
    sa.Column('received_at', sa.DateTime(timezone=True), server_default=sa.text('clock_timestamp()'), nullable=False),
    sa.ForeignKeyConstraint(['run_id'], ['run.id'], name=op.f('fk_invocation_run_id')),
    sa.PrimaryKeyConstraint('id', name=op.f('pk_invocation')),
    sa.UniqueConstraint('key', name=op.f('uq_invocation_key'))
    )
    op.create_index('ix_invocation_run_id', 'invocation', ['run_id', 'pair_index'], unique=False)
    op.create_table('result',
    sa.Column('id', sa.BigInteger(), sa.Identity(always=False), nullable=False),
    sa.Column('series_id', sa.BigInteger(), nullable=False),
    sa.Column('commit_id', sa.BigInteger(), nullable=False),
    sa.Column('run_id', sa.BigInteger(), nullable=True),
    sa.Column('upload_id', sa.BigInteger(), nullable=True),
    sa.Column('arm', sa.Text(), nullable=False),
    sa.Column('value', sa.DOUBLE_PRECISION(), nullable=False),
    sa.Column('low', sa.DOUBLE_PRECISION(), nullable=False),
    sa.Column('high', sa.DOUBLE_PRECISION(), nullable=False),
    sa.Column('n', sa.BigInteger(), nullable=False),
    sa.Column('flags', postgresql.ARRAY(sa.Text()), nullable=False),
    sa.Column('measured_at', sa.DateTime(timezone=True), nullable=False),
    sa.Column('created_at', sa.DateTime(timezone=True), server_default=sa.text('clock_timestamp()'), nullable=False),
    sa.ForeignKeyConstraint(['commit_id'], ['commit.id'], name=op.f('fk_result_commit_id')),
    sa.ForeignKeyConstraint(['run_id'], ['run.id'], name=op.f('fk_result_run_id')),
    sa.ForeignKeyConstraint(['series_id'], ['series.id'], name=op.f('fk_result_series_id')),
    sa.ForeignKeyConstraint(['upload_id'], ['upload.id'], name=op.f('fk_result_upload_id')),
    sa.PrimaryKeyConstraint('id', name=op.f('pk_result'))
    )
    op.create_index(op.f('ix_result_run_id'), 'result', ['run_id'], unique=False)
    op.create_index('ix_result_series_id_commit_id', 'result', ['series_id', 'commit_id'], unique=False)
    op.create_index(op.f('ix_result_upload_id'), 'result', ['upload_id'], unique=False)
    op.create_table('verdict',
    sa.Column('id', sa.BigInteger(), sa.Identity(always=False), nullable=False),
    sa.Column('run_id', sa.BigInteger(), nullable=False),
    sa.Column('case_id', sa.BigInteger(), nullable=False),
    sa.Column('metric', sa.Text(), nullable=False),
    sa.Column('unit', sa.Text(), nullable=False),
    sa.Column('better', sa.Text(), nullable=False),
    sa.Column('kind', sa.Text(), nullable=False),
    sa.Column('gating', sa.Boolean(), nullable=False),
    sa.Column('plan', postgresql.JSONB(astext_type=sa.Text()), nullable=False),
    sa.Column('series_version', sa.Text(), server_default='', nullable=False),
    sa.Column('verdict', sa.Text(), nullable=True),
    sa.Column('reason', sa.Text(), nullable=True),
    sa.Column('log_tail', sa.Text(), nullable=True),
    sa.Column('change', sa.DOUBLE_PRECISION(), nullable=True),
    sa.Column('worse', sa.Boolean(), nullable=True),
    sa.Column('ci_low', sa.DOUBLE_PRECISION(), nullable=True),
    sa.Column('ci_high', sa.DOUBLE_PRECISION(), nullable=True),
    sa.Column('ci_level', sa.DOUBLE_PRECISION(), nullable=True),
    sa.Column('n_pairs', sa.BigInteger(), server_default='0', nullable=False),
    sa.Column('n_void', sa.BigInteger(), server_default='0', nullable=False),
    sa.Column('device_s', sa.DOUBLE_PRECISION(), nullable=True),
    sa.Column('log_e', sa.DOUBLE_PRECISION(), nullable=True),
    sa.Column('could_hide', sa.DOUBLE_PRECISION(), nullable=True),
    sa.Column('sigma_pair', sa.DOUBLE_PRECISION(), nullable=True),
    sa.Column('grade', sa.Text(), nullable=True),
    sa.Column('flags', postgresql.ARRAY(sa.Text()), nullable=False),
    sa.Column('attribution', postgresql.ARRAY(sa.Text()), nullable=False),
    sa.Column('exploratory', sa.Boolean(), server_default=sa.text('false'), nullable=False),
    sa.Column('looks', postgresql.JSONB(astext_type=sa.Text()), nullable=False),
    sa.Column('settled_at', sa.DateTime(timezone=True), nullable=True),
    sa.ForeignKeyConstraint(['case_id'], ['benchmark_case.id'], name=op.f('fk_verdict_case_id')),
    sa.ForeignKeyConstraint(['run_id'], ['run.id'], name=op.f('fk_verdict_run_id')),
    sa.PrimaryKeyConstraint('id', name=op.f('pk_verdict')),
    sa.UniqueConstraint('run_id', 'case_id', 'metric', name=op.f('uq_verdict_run_id_case_id_metric'))
    )
    op.create_index('ix_verdict_noise', 'verdict', ['case_id', 'metric', 'id'], unique=False, postgresql_where=sa.text('sigma_pair is not null'))
    op.create_table('estimate',
    sa.Column('invocation_id', sa.BigInteger(), nullable=False),
    sa.Column('case_id', sa.BigInteger(), nullable=False),
    sa.Column('metric', sa.Text(), nullable=False),
    sa.Column('value', sa.DOUBLE_PRECISION(), nullable=False),
    sa.ForeignKeyConstraint(['case_id'], ['benchmark_case.id'], name=op.f('fk_estimate_case_id')),
    sa.ForeignKeyConstraint(['invocation_id'], ['invocation.id'], name=op.f('fk_estimate_invocation_id')),
    sa.PrimaryKeyConstraint('invocation_id', 'case_id', 'metric', name=op.f('pk_estimate'))
    )
    op.create_table('sample',
    sa.Column('result_id', sa.BigInteger(), nullable=False),
    sa.Column('values', postgresql.ARRAY(sa.DOUBLE_PRECISION()), nullable=False),
    sa.Column('void', postgresql.ARRAY(sa.BigInteger()), nullable=False),
    sa.ForeignKeyConstraint(['result_id'], ['result.id'], name=op.f('fk_sample_result_id')),
    sa.PrimaryKeyConstraint('result_id', name=op.f('pk_sample'))
    )
    op.create_table('timing',
    sa.Column('invocation_id', sa.BigInteger(), nullable=False),
    sa.Column('case_id', sa.BigInteger(), nullable=False),
    sa.Column('status', sa.Text(), nullable=False),
    sa.Column('reason', sa.Text(), server_default='', nullable=False),
    sa.Column('log_tail', sa.Text(), server_default='', nullable=False),
    sa.Column('k', sa.BigInteger(), nullable=False),
    sa.Column('clock', sa.Text(), nullable=False),
    sa.Column('n_warmup', sa.BigInteger(), nullable=False),
    sa.Column('warmup_converged', sa.Boolean(), nullable=False),
    sa.Column('first_call_s', sa.DOUBLE_PRECISION(), nullable=True),
    sa.Column('host_ns', postgresql.ARRAY(sa.BigInteger()), nullable=False),
    sa.Column('device_ns', postgresql.ARRAY(sa.BigInteger()), nullable=False),
    sa.Column('spike', postgresql.ARRAY(sa.BigInteger()), nullable=False),
    sa.Column('thinned', sa.BigInteger(), nullable=False),
    sa.Column('flags', postgresql.ARRAY(sa.Text()), nullable=False),
    sa.ForeignKeyConstraint(['case_id'], ['benchmark_case.id'], name=op.f('fk_timing_case_id')),
    sa.ForeignKeyConstraint(['invocation_id'], ['invocation.id'], name=op.f('fk_timing_invocation_id')),
    sa.PrimaryKeyConstraint('invocation_id', 'case_id', name=op.f('pk_timing'))
    )



def downgrade() -> None:

    op.drop_table('timing')
    op.drop_table('sample')
    op.drop_table('estimate')
    op.drop_index('ix_verdict_noise', table_name='verdict', postgresql_where=sa.text('sigma_pair is not null'))
    op.drop_table('verdict')
    op.drop_index(op.f('ix_result_upload_id'), table_name='result')
    op.drop_index('ix_result_series_id_commit_id', table_name='result')
    op.drop_index(op.f('ix_result_run_id'), table_name='result')
    op.drop_table('result')
    op.drop_index('ix_invocation_run_id', table_name='invocation')
    op.drop_table('invocation')
    op.drop_index(op.f('ix_run_job_id'), table_name='run')
    op.drop_table('run')
    op.drop_index('uq_lease_device_active', table_name='lease_device', postgresql_where=sa.text('active'))
    op.drop_table('lease_device')
    op.drop_index(op.f('ix_request_job_job_id'), table_name='request_job')
    op.drop_table('request_job')
    op.drop_table('report')
    op.drop_index('ix_device_device_class', table_name='device')
    op.drop_table('device')
    op.drop_table('attempt')
    op.drop_table('worker')
    op.drop_table('upload')
    op.drop_index(op.f('ix_series_project_id'), table_name='series')
    op.drop_table('series')
    op.drop_index('ix_job_lease_until', table_name='job', postgresql_where=sa.text("state in ('leased', 'running')"))
    op.drop_index('ix_job_lease_id', table_name='job')
    op.drop_index('ix_job_claim', table_name='job', postgresql_where=sa.text("state = 'queued'"))
    op.drop_table('job')
    op.drop_index(op.f('ix_check_project_id'), table_name='check')
    op.drop_table('check')
    op.drop_table('browser_session')
    op.drop_table('token')
    op.drop_table('request')
    op.drop_table('commit')
    op.drop_table('benchmark_case')
    op.drop_table('project')
    op.drop_index('ix_outbox_unsent', table_name='outbox', postgresql_where=sa.text('sent_at is null'))
    op.drop_table('outbox')
    op.drop_index(op.f('ix_environment_machine_hash'), table_name='environment')
    op.drop_table('environment')
    op.drop_table('audit_log')

